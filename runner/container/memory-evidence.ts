import { readdirSync, readFileSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../policy/redact.ts'
import { type Owner, ownIdentity } from '../process/containment/proc.ts'

const mount = '/sys/fs/cgroup'

/** Name of the cgroup of one container of this process, from the top; null where the process is not known by /proc. */
export function ownParent(number: number, owner = ownIdentity()): string | null {
  return owner === null ? null : `/${prefixOf(owner)}${number}`
}

function prefixOf({ pid, start }: Pick<Owner, 'pid' | 'start'>): string {
  return `agentctl-container-${pid}-${start}-`
}

/** Removes what a dead agentctl left of these; a number is never given to another process of the same start. */
export async function removeParentsOf(owner: Pick<Owner, 'pid' | 'start'>): Promise<void> {
  const places = [mount, ...childrenOf(mount)]
  const names = places.flatMap(place => childrenOf(place).map(one => path.basename(one)))
  const left = new Set(names.filter(name => name.startsWith(prefixOf(owner))))
  for (const name of left) await removeParent(`/${name}`)
}

function childrenOf(place: string): string[] {
  try {
    return readdirSync(place, { withFileTypes: true }).flatMap(entry =>
      entry.isDirectory() ? [path.join(place, entry.name)] : [],
    )
  } catch {
    return []
  }
}

/** Whether memory ran out below a cgroup; a name that no memory controller of this host has gives no evidence. */
export function memoryRanOut(parent: string | null, limitBytes: number): boolean {
  if (parent === null) return false
  const events = read(path.join(mount, parent, 'memory.events'))
  if (events !== null) return /^oom_kill [1-9]/m.test(events)
  // v1 counts kills only in the group itself, which is gone; that its limit was reached stays written above it.
  const most = read(path.join(mount, 'memory', parent, 'memory.max_usage_in_bytes'))
  return most !== null && Number(most) >= limitBytes
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/** How long what the engine keeps in a cgroup may take to leave it. */
const leaveMilliseconds = 2_000

/** Removes a container's cgroup from every hierarchy, empty as it is; what stays is told. */
export async function removeParent(parent: string): Promise<string | null> {
  const deadline = performance.now() + leaveMilliseconds
  const places = [mount, ...childrenOf(mount)].map(one => path.join(one, parent))
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const left = places.flatMap(place => removeTree(place) ?? [])
    if (left.length === 0) return null
    if (performance.now() > deadline) return left.join(', ')
    await sleep(pause)
  }
}

function removeTree(place: string): string | null {
  try {
    for (const entry of readdirSync(place, { withFileTypes: true }))
      if (entry.isDirectory()) removeTree(path.join(place, entry.name))
    rmdirSync(place)
    return null
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? null : describeError(error)
  }
}
