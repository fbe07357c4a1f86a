import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describeError } from '../../../policy/redact.ts'
import { cgroupOf } from './proc.ts'

/** Where cgroup v2 is mounted: beside v1 on hybrid hosts, alone elsewhere. */
const mounts = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']

/** The directory below agentctl's own cgroup in which each effect gets one, so that limits above still hold. */
export interface CgroupHome {
  /** agentctl's own cgroup. */
  own: string
  /** `<own>/agentctl/<owner>`. */
  directory: string
  inode: number
  /** Place of `directory` as /proc/<pid>/cgroup names it. */
  place: string
}

/** Where the home of an owner would be; nothing is made. */
export function planCgroupHome(owner: string): Omit<CgroupHome, 'inode'> | { absent: string } {
  const mount = mounts.find(place => existsSync(path.join(place, 'cgroup.procs')))
  const place = cgroupOf('self')
  if (mount === undefined || place === null) return { absent: 'this host has no cgroup v2 hierarchy' }
  if (place.split('/').includes('..')) return { absent: `agentctl's own cgroup ${place} lies outside what is mounted` }
  const own = path.join(mount, place)
  return { own, directory: path.join(own, 'agentctl', owner), place: path.posix.join(place, 'agentctl', owner) }
}

/** Makes the home, having tried once that a process can be put into a cgroup there, taken out, and the rest killed. */
export function openCgroupHome(owner: string): { home: CgroupHome } | { absent: string } {
  const plan = planCgroupHome(owner)
  if ('absent' in plan) return plan
  const { own, directory } = plan
  try {
    makeBelow(own, directory)
    const home = { ...plan, inode: statSync(directory).ino }
    const refusal = tryOut(home)
    if (refusal === null) return { home }
    removeHome(directory)
    return { absent: refusal }
  } catch (error) {
    removeHome(directory)
    return { absent: `no cgroup can be made below ${own}: ${describeError(error)}` }
  }
}

function makeBelow(own: string, directory: string): void {
  if (!existsSync(path.join(own, 'cgroup.procs'))) throw new Error(`${own} is not mounted`)
  for (let attempt = 0; ; attempt += 1) {
    try {
      mkdirSync(directory, { recursive: true })
      return
    } catch (error) {
      // Another agentctl that ends may have removed the directory between the two.
      if (attempt === 5) throw error
    }
  }
}

function tryOut(home: CgroupHome): string | null {
  const before = cgroupOf('self')
  if (!existsSync(path.join(home.directory, 'cgroup.kill'))) return 'this kernel has no cgroup.kill (Linux 5.14)'
  const probe = path.join(home.directory, 'probe')
  mkdirSync(probe)
  try {
    moveSelf(probe)
    if (cgroupOf('self') !== path.posix.join(home.place, 'probe')) return `${home.directory} does not take processes`
  } finally {
    moveSelf(home.own)
    removeCgroup(probe)
  }
  return cgroupOf('self') === before ? null : `agentctl could not be moved back to ${home.own}`
}

/** Moves agentctl, all its threads; where nothing was moved for some time the kernel takes some 10 ms for it. */
export function moveSelf(dir: string): void {
  writeFileSync(path.join(dir, 'cgroup.procs'), String(process.pid))
}

/** Whether agentctl and nobody else is in it, which proves that nothing else lives there. */
export function isAlone(dir: string): boolean {
  const members = membersOf(dir)
  return members.length === 1 && members[0] === process.pid
}

/** Whether a living process is in it or below; false also once it is gone. */
export function isPopulated(dir: string): boolean {
  try {
    return readFileSync(path.join(dir, 'cgroup.events'), 'latin1').includes('populated 1')
  } catch {
    return false
  }
}

/** Living and dead members, those of cgroups below included. */
export function membersOf(dir: string): number[] {
  try {
    const own = readFileSync(path.join(dir, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean).map(Number)
    return [...own, ...childrenOf(dir).flatMap(membersOf)]
  } catch {
    return []
  }
}

/** SIGKILL to everything inside, whatever it does meanwhile; false where that cannot be, as with agentctl itself inside. */
export function killCgroup(dir: string): boolean {
  if (membersOf(dir).includes(process.pid)) return false
  try {
    writeFileSync(path.join(dir, 'cgroup.kill'), '1')
    return true
  } catch {
    return !existsSync(dir)
  }
}

/** Removes agentctl's own directory, and the one that it shares with others once it was the last. */
export function removeHome(directory: string): boolean {
  if (!removeCgroup(directory)) return false
  try {
    rmdirSync(path.dirname(directory))
  } catch {
    // Another agentctl's is in it.
  }
  return true
}

/** Removes an empty cgroup with the empty ones below it, which proves it empty; false where something is left in it. */
export function removeCgroup(dir: string): boolean {
  try {
    rmdirSync(dir)
    return true
  } catch {
    // Processes make cgroups of their own, an agentctl among them does.
  }
  try {
    for (const child of childrenOf(dir)) removeCgroup(child)
    rmdirSync(dir)
    return true
  } catch {
    return !existsSync(dir)
  }
}

function childrenOf(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => path.join(dir, entry.name))
}
