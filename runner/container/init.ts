import { existsSync, lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Directory } from '../facts/directory.ts'
import { identityOf } from '../facts/directory.ts'
import { user, workspace } from './fixed.ts'

/** What the kernel says of a container's first process. */
export interface InitControls {
  capBnd: string
  capEff: string
  noNewPrivs: string
  seccomp: string
  uid: string
  gid: string
  /** Mount points that are not read-only, but for the kernel's own file systems and what root alone may write to. */
  writable: string
  /** Whether network, IPC, mount, pid and cgroup namespaces are its own. */
  ownNamespaces: string
  /** Whether /workspace is the directory that was decided about, by device and inode. */
  cwdIsSame: boolean
}

/** How long a process that the engine has just started may still be the engine's runtime. */
const settleMilliseconds = 1_000
const namespaces = ['net', 'ipc', 'mnt', 'pid', 'cgroup', 'uts'] as const

/**
 * Reads what holds the first process, once it is the command and no longer the runtime that starts it; else why it cannot
 * be read. `cwd` is held by its descriptor.
 */
export async function readInit(pid: number, cwd: Directory): Promise<InitControls | { notReadable: string }> {
  if (pid === 0) return { notReadable: 'it had ended before it was looked at' }
  const deadline = performance.now() + settleMilliseconds
  let last: InitControls | null = null
  for (;;) {
    try {
      if (isRuntime(pid) && performance.now() < deadline) {
        await sleep(2)
        continue
      }
      last = look(pid, cwd)
    } catch (error) {
      // What was seen of it stands, however soon it ended.
      return last ?? { notReadable: reasonOf(error) }
    }
    // The filter comes last, and the name changes after it.
    if (initFaults(last).length === 0 || performance.now() >= deadline) return last
    await sleep(5)
  }
}

/** Whether it is still the runtime, which becomes the command once everything is in force. */
function isRuntime(pid: number): boolean {
  return /^(runc|crun)/.test(readFileSync(`/proc/${pid}/comm`, 'utf8'))
}

function look(pid: number, cwd: Directory): InitControls {
  const status = new Map(
    readFileSync(`/proc/${pid}/status`, 'utf8')
      .split('\n')
      .map(line => {
        const [name = '', value = ''] = line.split(':')
        return [name, value.trim()] as const
      }),
  )
  return {
    capBnd: status.get('CapBnd') ?? '',
    capEff: status.get('CapEff') ?? '',
    noNewPrivs: status.get('NoNewPrivs') ?? '',
    seccomp: status.get('Seccomp') ?? '',
    uid: status.get('Uid') ?? '',
    gid: status.get('Gid') ?? '',
    writable: writableMounts(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'), place => isRootOnly(pid, place)),
    ownNamespaces: namespaces.filter(name => namespaceOf(pid, name) !== namespaceOf('self', name)).join(' '),
    cwdIsSame: cwd.fd !== null && identityOf(cwd.fd) === placeOf(pid),
  }
}

/**
 * Device and inode of its /workspace. A link of the image there is not followed: an absolute one would lead through this
 * host's own directories. Empty where a process that lives has none.
 */
function placeOf(pid: number): string {
  try {
    const { dev, ino } = lstatSync(`/proc/${pid}/root${workspace}`)
    return `${dev}:${ino}`
  } catch (error) {
    if (existsSync(`/proc/${pid}/root/.`)) return ''
    throw error
  }
}

function namespaceOf(pid: number | 'self', name: string): string {
  return readlinkSync(`/proc/${pid}/ns/${name}`)
}

/** Kernel file systems that hold no data of anyone, and small ones whose directories a runtime makes for root. */
const kernel: ReadonlySet<string> = new Set(['proc', 'sysfs', 'cgroup', 'cgroup2', 'devpts'])
const ofRuntimes: ReadonlySet<string> = new Set(['/dev', '/sys/fs/cgroup'])

function isRootOnly(pid: number, place: string): boolean {
  if (!ofRuntimes.has(place)) return false
  const { uid, mode } = statSync(`/proc/${pid}/root${place}`)
  return uid === 0 && (mode & 0o022) === 0
}

function writableMounts(mountinfo: string, isRootOnly: (place: string) => boolean): string {
  const writable = mountinfo
    .split('\n')
    .filter(Boolean)
    .flatMap(line => {
      const [before = '', after = ''] = line.split(' - ')
      const [, , , root = '', place = '', options = ''] = before.split(' ')
      const [type = ''] = after.split(' ')
      const listed = options.split(',')
      const isDevice = type === 'tmpfs' && root !== '/' && place.startsWith('/proc/')
      if (listed.includes('ro') || kernel.has(type) || isDevice || isRootOnly(place)) return []
      const bounding = ['noexec', 'nosuid', 'nodev'].filter(one => listed.includes(one))
      return [`${place} ${type} ${bounding.join(',')}`]
    })
  return writable.join('; ')
}

/** The controls that are not in force, empty where all are. */
export function initFaults(seen: InitControls): string[] {
  const number = Array(4).fill(user).join('\t')
  const expected: { [Name in keyof InitControls]: InitControls[Name] } = {
    capBnd: '0000000000000000',
    capEff: '0000000000000000',
    noNewPrivs: '1',
    seccomp: '2',
    uid: number,
    gid: number,
    writable: '/tmp tmpfs noexec,nosuid,nodev',
    ownNamespaces: namespaces.join(' '),
    cwdIsSame: true,
  }
  return Object.entries(expected).flatMap(([name, value]) => (seen[name as keyof InitControls] === value ? [] : [name]))
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOENT' || code === 'ESRCH') return 'it had ended before it was looked at'
  if (code === 'EACCES' || code === 'EPERM') return "agentctl's user may not look at it"
  return `it cannot be looked at (${code})`
}
