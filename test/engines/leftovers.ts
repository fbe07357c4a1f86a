import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processesOf } from './processes.ts'

/** What engines leave outside of their directory; as it was before they were started. */
export interface Before {
  networkNamespaces: string[]
  shimSockets: string[]
}

const networkNamespaces = '/run/netns'
const shimSockets = '/run/containerd/s'
const cgroups = '/sys/fs/cgroup'

export function lookBefore(): Before {
  return { networkNamespaces: entriesOf(networkNamespaces), shimSockets: entriesOf(shimSockets) }
}

/**
 * Ends and removes what the stopped engines have left, then looks again. Answers what it could not get rid of, a line each:
 * empty is the proof that nothing is left.
 */
export async function clearAway(directory: string, cgroup: string, before: Before): Promise<string[]> {
  for (let pass = 0; pass < 50 && processesOf(directory).length > 0; pass += 1) {
    for (const pid of processesOf(directory)) kill(pid)
    await sleep(50)
  }
  for (const place of mountsUnder(directory).reverse()) execFileSync('umount', ['-l', place])
  for (const place of cgroupsNamed(cgroup)) removeCgroup(place)
  for (const name of added(shimSockets, before.shimSockets)) rmSync(path.join(shimSockets, name))
  rmSync(directory, { recursive: true, force: true })
  return [
    ...processesOf(directory).map(pid => `process ${pid}: ${commandOf(pid)}`),
    ...mountsUnder(directory).map(place => `mount ${place}`),
    ...cgroupsNamed(cgroup).map(place => `cgroup ${place}`),
    ...added(networkNamespaces, before.networkNamespaces).map(name => `network namespace ${name}`),
    ...(existsSync(directory) ? [`directory ${directory}`] : []),
  ]
}

/** Mount points under a directory in this process's mount namespace, in the order in which they were mounted. */
export function mountsUnder(directory: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map(line => line.split(' ')[4]?.replaceAll('\\040', ' ') ?? '')
    .filter(place => place.startsWith(`${directory}/`))
}

/** The cgroup of that name below the root, in every hierarchy. */
function cgroupsNamed(name: string): string[] {
  const hierarchies = existsSync(path.join(cgroups, 'cgroup.procs')) ? [''] : entriesOf(cgroups)
  return hierarchies.map(one => path.join(cgroups, one, name)).filter(place => existsSync(place))
}

function removeCgroup(place: string): void {
  for (const entry of readdirSync(place, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(path.join(place, entry.name))
  }
  try {
    rmdirSync(place)
  } catch {
    // Still in use: named by the look that follows.
  }
}

function added(place: string, before: string[]): string[] {
  return entriesOf(place).filter(name => !before.includes(name))
}

function entriesOf(place: string): string[] {
  return existsSync(place) ? readdirSync(place) : []
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone by itself.
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return 'gone'
  }
}
