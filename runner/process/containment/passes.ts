import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
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
    const stopped: Stopped = new Map()
    for (let round = 0; round < maxRounds && stopFresh(native, findOpen, stopped, denied); round += 1) {
      if (performance.now() > deadline) break
      // What else waits here, an exit that was asked for among it, has its turn.
      await turn()
    }
    const found = killStopped(native, stopped, denied)
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

/** One pass at once, for a process that is about to end itself; it looks at least once, and not again after `deadline`. */
export function killPass(native: Native | null, find: () => readonly Seen[], deadline: number): void {
  const [stopped, denied]: [Stopped, Set<string>] = [new Map(), new Set()]
  for (let round = 0; round < maxRounds && stopFresh(native, find, stopped, denied); round += 1)
    if (performance.now() > deadline) break
  killStopped(native, stopped, denied)
}

type Stopped = Map<string, Seen>

/** Stops whoever was not stopped yet; false where there was nobody. */
function stopFresh(native: Native | null, find: () => readonly Seen[], stopped: Stopped, denied: Set<string>): boolean {
  const fresh = find().filter(seen => !stopped.has(key(seen)))
  for (const seen of fresh) {
    stopped.set(key(seen), seen)
    if (signalSeen(native, seen, 'SIGSTOP') === 'denied') denied.add(key(seen))
  }
  return fresh.length > 0
}

function killStopped(native: Native | null, stopped: Stopped, denied: Set<string>): readonly Seen[] {
  for (const seen of stopped.values()) if (signalSeen(native, seen, 'SIGKILL') === 'denied') denied.add(key(seen))
  return [...stopped.values()]
}

function key({ pid, start }: Seen): string {
  return `${pid}:${start}`
}
