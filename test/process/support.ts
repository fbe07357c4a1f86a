import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { armHost } from '../../runner/process/arm.ts'
import type { RunningProcess } from '../../runner/process/host-process.ts'
import type { Room } from './launch.ts'

export { launch, type Room, sh, textOf } from './launch.ts'

export type Kind = 'cgroup' | 'best-effort'
export type Result = Awaited<RunningProcess['wait']>

const trial = armHost({ registry: [] })
const noCgroup = trial.absent.find(({ guarantee }) => guarantee === 'cgroup')
trial.close()
if (noCgroup !== undefined) console.log(`not run here: containment by cgroup (${noCgroup.reason})`)

/** Both kinds of containment where this host has both. */
export const kinds: Kind[] = noCgroup === undefined ? ['cgroup', 'best-effort'] : ['best-effort']

export const isRoot = process.getuid?.() === 0

export function openRoom(kind: Kind): Room {
  const directory = mkdtempSync(path.join(tmpdir(), 'agentctl-process-'))
  const registry = path.join(directory, 'registry')
  mkdirSync(registry, { mode: 0o700 })
  return {
    directory,
    tag: randomUUID(),
    options: {
      registry: [path.join(registry, 'processes')],
      ...(kind === 'best-effort' && { containment: 'best-effort' as const }),
    },
    file: name => path.join(directory, name),
    script(name, text) {
      const place = path.join(directory, name)
      writeFileSync(place, text, { mode: 0o755 })
      return place
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** Pids of the living that carry the tag in their environment, whoever their parents are by now. */
export function tagged(tag: string): number[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name)) return []
    try {
      const isHere = readFileSync(`/proc/${name}/environ`, 'latin1').includes(`TAG=${tag}`)
      return isHere && stateOf(Number(name)) !== 'Z' ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** One letter as /proc/PID/stat has it; null where there is no such process. */
export function stateOf(pid: number): string | null {
  try {
    return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1] ?? null
  } catch {
    return null
  }
}

/** Children of this process that are dead and not waited for. */
export function zombies(): number[] {
  const children = readFileSync('/proc/thread-self/children', 'latin1').split(' ').filter(Boolean).map(Number)
  return children.filter(pid => stateOf(pid) === 'Z')
}

/** Waits for something to become true; fails by its name where it does not in time. */
export async function until(what: string, isTrue: () => boolean, seconds = 20): Promise<void> {
  const deadline = performance.now() + seconds * 1_000
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`)
    await sleep(10)
  }
}
