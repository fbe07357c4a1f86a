import { readFileSync } from 'node:fs'
import { type Seen, seeAll } from '../process/containment/proc.ts'
import { signalSeen } from '../process/containment/signal.ts'

/**
 * Kills the processes of a container whose engine cannot, found by their cgroup, which both engines name after its id; how
 * many there were. An id of 64 random digits is in nobody else's.
 */
export function killMembers(id: string): number {
  const members = membersOf(id)
  for (const seen of members) signalSeen(null, seen, 'SIGKILL')
  return members.length
}

/** Its living processes, as far as /proc shows them. */
function membersOf(id: string): Seen[] {
  return seeAll().filter(seen => !seen.dead && isIn(seen.pid, id))
}

function isIn(pid: number, id: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'latin1').includes(id)
  } catch {
    return false
  }
}
