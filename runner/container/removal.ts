import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { type Seen, seeProcess } from '../process/containment/proc.ts'
import { within } from './calls.ts'
import type { Engine } from './engine.ts'
import { killMembers } from './members.ts'
import { removeParent } from './memory-evidence.ts'
import { forgetContainer } from './notes.ts'

/** How long its last look may take, whatever was left of the time. */
const lookMilliseconds = 500
/** Between two attempts. */
const againMilliseconds = 100

/** What is to go. */
export interface Removal {
  engine: Engine
  id: string
  /** Its first process; null where that was not seen. */
  init: Seen | null
  /** Its cgroup from the top of the hierarchy; null = the engine's own. */
  cgroupParent: string | null
  /** Whether it may still run. */
  mayRun: boolean
  milliseconds: number
}

/** Kills and removes a container, and answers whether it is gone, looked up once more. Its note stays for what is left. */
export async function removeContainer(removal: Removal): Promise<boolean> {
  const { engine, id, init, cgroupParent, mayRun, milliseconds } = removal
  const deadline = performance.now() + milliseconds
  const left = () => Math.max(0, deadline - performance.now())
  if (mayRun) await kill(removal, left)
  let isGone = false
  let stays: string | null = null
  // An engine may say that somebody else removes it, and be right a moment later.
  for (;;) {
    await within(left(), engine.remove(id))
    const inspected = engine.inspect(id).then(state => state === null)
    const looking = within(Math.max(left(), lookMilliseconds), inspected)
    // The engine answers while the cgroup is removed: the request is on its way only then.
    await nextTurn()
    stays = cgroupParent === null ? null : await removeParent(cgroupParent)
    const looked = await looking
    isGone = looked === true
    if (looked !== false || left() === 0) break
    await sleep(againMilliseconds)
  }
  if (isGone && stays === null) forgetContainer()
  return isGone && !isThere(init)
}

/** Through the engine; where that cannot, every process in the container's cgroup, which its id names. */
async function kill({ engine, id, init }: Removal, left: () => number): Promise<void> {
  const killed = await within(left() / 2, engine.kill(id))
  while (killed === null && engine.isLocal && killMembers(id) > 0 && left() > 0) await sleep(5)
  while (isThere(init) && left() > 0) await sleep(5)
}

/** Whether a process that was seen is still there and alive; false for one that never was seen. */
export function isThere(init: Seen | null): boolean {
  if (init === null) return false
  const now = seeProcess(init.pid)
  return now?.start === init.start && !now.dead
}
