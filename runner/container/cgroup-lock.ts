import { constants, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** With 250 ticks a second a move is quick for some 12 ms after the one before; milliseconds. */
const pauseMilliseconds = 6

let users = 0
let isHeld = false

/**
 * Until it is let go, moves between cgroups are quick for everybody. The kernel's lock for them (cgroup_threadgroup_rwsem)
 * waits for an RCU grace period, 8 to 16 ms, unless it was used just before; and the runtime of an engine moves the first
 * process of each container. What is done here is such a move that changes nothing, while agentctl only waits for the
 * engine. Where it cannot be done, moves take their time. Answers what lets it go.
 */
export function holdMovesQuick(members = ownMembers()): () => void {
  if (members === null) return () => {}
  users += 1
  if (!isHeld) void moveInPlace(members)
  let isUser = true
  return () => {
    if (isUser) users -= 1
    isUser = false
  }
}

async function moveInPlace(members: string): Promise<void> {
  isHeld = true
  try {
    await using file = await open(members, constants.O_WRONLY)
    while (users > 0) {
      await file.write(String(process.pid), 0)
      await sleep(pauseMilliseconds, null, { ref: false })
    }
  } catch {
    // Not allowed here.
  } finally {
    isHeld = false
  }
}

/**
 * Lists the members of the cgroup that agentctl is in, in a hierarchy of version 1: it never leaves that. In version 2 it
 * moves in order to begin processes, and what is written here could undo one of those moves. Null where there is none.
 */
export function ownMembers(cgroups = read('/proc/self/cgroup'), mount = '/sys/fs/cgroup'): string | null {
  for (const line of cgroups.split('\n')) {
    const [number = '0', controllers = '', ...place] = line.split(':')
    if (number === '0' || controllers === '' || controllers.includes('=')) continue
    const file = path.join(mount, controllers, place.join(':'), 'cgroup.procs')
    // In a namespace the same name may be another cgroup's, and writing would move it there.
    if (read(file).split('\n').includes(String(process.pid))) return file
  }
  return null
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
