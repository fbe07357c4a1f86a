import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Seen, seeAll, seesAllProcesses } from '../process/containment/proc.ts'
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

/**
 * Pid of the first process of the container whose cgroup lies below this one, which has no other: 0 where it has ended, null
 * where that cgroup is not seen. It costs no call to the engine.
 */
export function firstBelow(cgroupParent: string): number | null {
  for (const hierarchy of ['pids', '.']) {
    const parent = path.join('/sys/fs/cgroup', hierarchy, cgroupParent)
    try {
      const [container] = readdirSync(parent, { withFileTypes: true }).filter(one => one.isDirectory())
      if (container === undefined) continue
      const members = readFileSync(path.join(parent, container.name, 'cgroup.procs'), 'latin1').split('\n')
      const first = members.filter(Boolean).map(Number).find(isFirst)
      if (first !== undefined) return first
      // Elsewhere processes may be in it that have no number here.
      if (seesAllProcesses()) return 0
    } catch {
      // Not there, or gone meanwhile.
    }
  }
  return null
}

/** Whether it is the first of its namespace. */
function isFirst(pid: number): boolean {
  try {
    return /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
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
