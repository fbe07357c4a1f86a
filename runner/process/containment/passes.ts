import { setTimeout as sleep } from 'node:timers/promises'
import type { Native } from '../../native/native.ts'
import type { Seen } from './proc.ts'
import { signalSeen } from './signal.ts'

/** As many looks in a row must find nothing where one alone may miss what is being forked. */
export const cleanPasses = 5
/** Rounds of stopping before the kill, so that what forks as fast as it is killed cannot go on. */
const maxRounds = 20

/**
 * Kills whatever `find` finds, in passes, until `clean` looks in a row find nothing or the time is over. `find` answers the
 * living only. `left` are those that could not be ended: still there at the end, or another user's.
 */
export async function killInPasses(
  native: Native | null,
  find: () => readonly Seen[],
  budgetMilliseconds: number,
  needed = cleanPasses,
): Promise<{ killed: Seen[]; left: Seen[] }> {
  const deadline = performance.now() + budgetMilliseconds
  const killed = new Map<string, Seen>()
  const denied = new Set<string>()
  const findOpen = () => find().filter(seen => !denied.has(key(seen)))
  for (let clean = 0, pause = 1; clean < needed; ) {
    const found = killPass(native, findOpen, denied)
    if (found.length === 0) {
      clean += 1
      continue
    }
    clean = 0
    for (const seen of found) if (!denied.has(key(seen))) killed.set(key(seen), seen)
    if (performance.now() > deadline) break
    await sleep(pause)
    pause = Math.min(pause * 2, 20)
  }
  if (killed.size === 0 && denied.size === 0) return { killed: [], left: [] }
  const left = find()
  return { killed: [...killed.values()].filter(seen => !left.some(other => key(other) === key(seen))), left: [...left] }
}

/** One pass at once, for a process that is about to end itself. */
export function killPass(
  native: Native | null,
  find: () => readonly Seen[],
  denied: Set<string> = new Set(),
): readonly Seen[] {
  const stopped = new Map<string, Seen>()
  for (let round = 0; round < maxRounds; round += 1) {
    const fresh = find().filter(seen => !stopped.has(key(seen)))
    if (fresh.length === 0) break
    for (const seen of fresh) {
      stopped.set(key(seen), seen)
      if (signalSeen(native, seen, 'SIGSTOP') === 'denied') denied.add(key(seen))
    }
  }
  for (const seen of stopped.values()) if (signalSeen(native, seen, 'SIGKILL') === 'denied') denied.add(key(seen))
  return [...stopped.values()]
}

function key({ pid, start }: Seen): string {
  return `${pid}:${start}`
}
