import { closeSync, opendirSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import path from 'node:path'
import { withoutHidden } from '../../../policy/hidden.ts'

/** One process as /proc tells it. Pid and start time together name it for good; the pid alone does not. */
export interface Seen {
  pid: number
  parent: number
  group: number
  session: number
  /** In clock ticks since boot. */
  start: number
  /** Dead and not yet waited for. */
  dead: boolean
  /** The kernel's short name of the program, at most 15 bytes; arguments may hold secrets and are not read. */
  command: string
}

const buffer = Buffer.alloc(1_024)

/** null where there is no such process, or none that this one may see. */
export function seeProcess(pid: number): Seen | null {
  let text: string
  try {
    const fd = openSync(`/proc/${pid}/stat`, 'r')
    try {
      text = buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0))
    } finally {
      closeSync(fd)
    }
  } catch {
    return null
  }
  // The name may itself hold spaces and parentheses.
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const number = (index: number) => Number(fields[index])
  return {
    pid,
    parent: number(1),
    group: number(2),
    session: number(3),
    start: number(19),
    dead: fields[0] === 'Z' || fields[0] === 'X',
    command: text.slice(text.indexOf('(') + 1, end),
  }
}

/** Every process that this one may see. */
export function seeAll(): Seen[] {
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
    return []
  }
  return names.flatMap(name => (/^\d+$/.test(name) ? (seeProcess(Number(name)) ?? []) : []))
}

/** The processes below the given ones, those included, each once. */
export function withDescendants(roots: readonly Seen[], all: readonly Seen[]): Seen[] {
  const children = Map.groupBy(all, ({ parent }) => parent)
  const found = new Map(roots.map(root => [root.pid, root]))
  for (const { pid } of found.values())
    for (const child of children.get(pid) ?? []) if (!found.has(child.pid)) found.set(child.pid, child)
  return [...found.values()]
}

/** Pids of this process's own children, dead ones too: the kernel gives orphans to the main thread. */
export function ownChildren(): number[] {
  try {
    return readFileSync('/proc/thread-self/children', 'latin1').split(' ').filter(Boolean).map(Number)
  } catch {
    // A kernel without CONFIG_PROC_CHILDREN.
    return seeAll().flatMap(({ pid, parent }) => (parent === process.pid ? pid : []))
  }
}

/**
 * The program's name for people: the kernel's short name, and where that is only the number of the descriptor that it was
 * started from, the name of the file that runs, as far as it may be read. While it lives. Processes choose it themselves:
 * what would not be shown is escaped.
 */
export function programOf({ pid, command }: Pick<Seen, 'pid' | 'command'>): string {
  return withoutHidden(/^\d+$/.test(command) ? (fileOf(pid) ?? command) : command, false)
}

function fileOf(pid: number): string | null {
  try {
    return path.basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''))
  } catch {
    return null
  }
}

/** Names in a directory, at most `max` of them, however many there are. Throws where it cannot be read. */
export function firstNames(directory: string, max: number): { names: string[]; isAll: boolean } {
  const open = opendirSync(directory)
  try {
    const names: string[] = []
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      if (names.length === max) return { names, isAll: false }
      names.push(entry.name)
    }
    return { names, isAll: true }
  } finally {
    open.closeSync()
  }
}

/** A process that opens more than this hides nothing by it: the marker comes third. */
const maxDescriptors = 1_024

/**
 * The first of the given paths of which a process holds the file open, its name removed or not; null also where its
 * descriptors may not be read. Read from the links alone: to ask for the file itself could wait on a file system of the
 * process's own.
 */
export function heldFile(pid: number, paths: ReadonlySet<string>): string | null {
  let descriptors: string[]
  try {
    descriptors = firstNames(`/proc/${pid}/fd`, maxDescriptors).names
  } catch {
    return null
  }
  for (const descriptor of descriptors) {
    try {
      const link = readlinkSync(`/proc/${pid}/fd/${descriptor}`)
      const named = link.replace(/ \(deleted\)$/, '')
      for (const held of [link, named]) if (paths.has(held)) return held
    } catch {
      // Closed meanwhile.
    }
  }
  return null
}

/** The process's place in the cgroup v2 hierarchy, `/` for the top; null where there is none. */
export function cgroupOf(pid: number | 'self'): string | null {
  try {
    return /^0::(\/.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? null
  } catch {
    return null
  }
}

/** Who a process is, so that nothing else is ever taken for it. */
export interface Owner {
  pid: number
  /** In clock ticks since boot. */
  start: number
  boot: string
  /** Inode of the pid namespace that `pid` belongs to. */
  pidNamespace: string
}

/** This process; null where /proc does not show it by the number that it knows itself by. */
export function ownIdentity(): Owner | null {
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) return null
    const seen = seeProcess(process.pid)
    if (seen === null) return null
    return { pid: process.pid, start: seen.start, boot: bootId(), pidNamespace: pidNamespace() }
  } catch {
    return null
  }
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

export function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid')
}

/** Whether every process of this kernel has a number here; the first namespace's is PROC_PID_INIT_INO of linux/proc_ns.h. */
export function seesAllProcesses(): boolean {
  return pidNamespace() === 'pid:[4026531836]'
}

/** Whether a process of this boot and pid namespace is over. Where it cannot be seen but its pid is taken, it lives. */
export function isOver({ pid, start }: Pick<Owner, 'pid' | 'start'>): boolean {
  const seen = seeProcess(pid)
  if (seen !== null) return seen.dead || seen.start !== start
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
