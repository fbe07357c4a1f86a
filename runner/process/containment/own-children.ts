import { subscribe } from 'node:diagnostics_channel'
import type { MainProcess } from '../main-process.ts'
import { ownChildren, type Seen, seeProcess } from './proc.ts'

/** What this process started, itself or through Node, and has not waited for yet. */
const started = new Set<Started>()

type Started = Pick<MainProcess, 'pid' | 'exitCode' | 'signalCode'>
/** Children that were there before the first look: nothing of an effect. Start time by pid. */
let before: Map<number, number> | null = null

/** From now on tells this process's own children from orphans that it was given. Once is enough. */
export function watchChildren(): void {
  if (before !== null) return
  before = new Map(
    ownChildren()
      .flatMap(pid => seeProcess(pid) ?? [])
      .map(({ pid, start }) => [pid, start]),
  )
  subscribe('child_process', message => {
    if (isStarted(message)) started.add(message.process)
  })
}

function isStarted(message: unknown): message is { process: Started } {
  return typeof message === 'object' && message !== null && 'process' in message
}

/** Tells of a child that was started by other means than Node's. */
export function addStarted(child: Started): void {
  started.add(child)
}

/**
 * Children that nobody here started: orphans of processes that it did start. The dead among them are waited for at once, by
 * number alone: thousands may have died since the last look. Answers the living, and those that `wait` could not wait for.
 * A room that starts something which is to outlive an effect must not leave it to agentctl as an orphan.
 */
export function sweepOrphans(wait: (pid: number) => boolean): Seen[] {
  const children = ownChildren()
  if (children.length === 0) return []
  const waited = new Set<number>()
  for (const child of started) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) started.delete(child)
    else waited.add(child.pid)
  }
  return children.flatMap(pid => {
    if (waited.has(pid) || isFromBefore(pid) || wait(pid)) return []
    return seeProcess(pid) ?? []
  })
}

function isFromBefore(pid: number): boolean {
  const start = before?.get(pid)
  return start !== undefined && seeProcess(pid)?.start === start
}

/** Whether a group is agentctl's own, that of something it started other than the main processes of effects, or unknown here. */
function isOwnGroup(group: number, mains: readonly (number | undefined)[]): boolean {
  if (group <= 1 || group === seeProcess(process.pid)?.group) return true
  return !mains.includes(group) && [...started].some(({ pid }) => pid === group)
}

/**
 * Kills at once the group that a dead orphan was in: a chain of forks, each over before it can be signalled, does not
 * outrun that. The dead keeps the number of its group from anyone else for as long as it is not waited for.
 * `mains` are the main processes of effects; `tried` holds the groups of this sweep.
 */
export function killGroupOfDead(
  pid: number,
  mains: readonly (number | undefined)[],
  isOf: (seen: Seen) => boolean,
  tried: Set<number>,
): void {
  const seen = seeProcess(pid)
  if (seen === null || !seen.dead || tried.has(seen.group)) return
  tried.add(seen.group)
  if (isOwnGroup(seen.group, mains) || !isOf(seen)) return
  try {
    process.kill(-seen.group, 'SIGKILL')
  } catch {
    // Nobody else is in it, or only another user's processes.
  }
}
