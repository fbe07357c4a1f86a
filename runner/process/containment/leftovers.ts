import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { loadNative } from '../../native/linux.ts'
import type { Native, NativeLayer } from '../../native/native.ts'
import { isPopulated, killCgroup, membersOf, removeHome } from './cgroup.ts'
import { killInPasses } from './passes.ts'
import {
  bootId,
  firstNames,
  heldFile,
  isOver,
  pidNamespace,
  programOf,
  type Seen,
  seeAll,
  withDescendants,
} from './proc.ts'
import { checkPlace, closeEntry, type EntryOwner, maxMarkers, readMarkerName, registryPlaces } from './registry.ts'

/** A process that an agentctl left behind; `effect` is empty where it is not known. */
export interface Leftover {
  pid: number
  /** The program's name, as `programOf` tells it. */
  command: string
  effect: string
}

/** What `reapLeftovers` came to. */
export interface Leftovers {
  killed: Leftover[]
  /** What could not be ended; the next call tries again. */
  left: Leftover[]
  /** How many agentctl processes had been killed before they could end what they had started. */
  owners: number
  /** Not all that the registry holds could be looked at: the next call goes on. */
  isIncomplete: boolean
}

/** For tests; absent = this user's places, koffi. */
export interface ReapOptions {
  registry?: readonly string[]
  native?: NativeLayer
}

/** Over all entries. */
const budgetMilliseconds = 5_000
/** More than agentctl processes that one user has on one host. */
const maxEntries = 1_024
const maxOwnerBytes = 4_096

const ownerSchema: z.ZodType<EntryOwner> = z.object({
  pid: z.int().positive(),
  start: z.int().nonnegative(),
  boot: z.string(),
  pidNamespace: z.string(),
  cgroup: z.object({ directory: z.string(), inode: z.int().nullable() }).nullable(),
})

/**
 * Kills what agentctl processes of this user left on this host when they were killed themselves, found by cgroup and
 * marker, and forgets them. Never touches a live agentctl's processes, another pid namespace's or boot's, or one that was
 * given a number later. Effects of the same user write where it reads: nothing there is waited for, read without a bound or
 * believed. Where there is nothing it costs a few system calls. Over in about 5 s. Never throws.
 */
export async function reapLeftovers(options: ReapOptions = {}): Promise<Leftovers> {
  const result: Leftovers = { killed: [], left: [], owners: 0, isIncomplete: false }
  if (process.platform !== 'linux') return result
  const deadline = performance.now() + budgetMilliseconds
  for (const entry of entriesIn(options.registry ?? registryPlaces(process.geteuid?.() ?? -1), result)) {
    if (performance.now() > deadline) {
      result.isIncomplete = true
      break
    }
    try {
      const dead = deadEntry(entry)
      if (dead === null) continue
      const layer = options.native ?? loadNative()
      await reap(dead, 'native' in layer ? layer.native : null, result, deadline)
    } catch {
      // Another agentctl forgot it meanwhile; or the host does not tell what is needed, and the next call tries again.
      if (existsSync(entry)) result.isIncomplete = true
    }
  }
  return result
}

interface DeadEntry {
  directory: string
  owner: EntryOwner
  /** Effect by marker path, and by the number that marker and cgroup share. */
  markers: { path: string; number: string; effect: string }[]
}

/** Nothing where a place is not there, or is not this user's alone. */
function entriesIn(places: readonly string[], result: Leftovers): string[] {
  return places.flatMap(place => {
    try {
      checkPlace(place)
      const { names, isAll } = firstNames(place, maxEntries)
      if (!isAll) result.isIncomplete = true
      return names.map(name => path.join(place, name))
    } catch {
      return []
    }
  })
}

/** An entry whose owner is over; null for any other, what an agentctl before this boot left being forgotten. */
function deadEntry(directory: string): DeadEntry | null {
  if (!lstatSync(directory).isDirectory()) return null
  if (path.basename(directory).startsWith('.')) return forgetDraft(directory)
  const owner = readOwner(directory)
  if (owner === null) return null
  if (owner.boot !== bootId()) {
    closeEntry({ directory })
    return null
  }
  if (owner.pidNamespace !== pidNamespace() || !isOver(owner)) return null
  const canonical = realpathSync.native(directory)
  const markers = firstNames(directory, maxMarkers).names.flatMap(file => {
    const named = readMarkerName(file)
    return named === null ? [] : { path: path.join(canonical, file), ...named }
  })
  return { directory, owner, markers }
}

/** null for anything but a small regular file of this user: a pipe would be waited for, a device never ends. */
function readOwner(directory: string): EntryOwner | null {
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const fd = openSync(path.join(directory, 'owner.json'), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile() || stat.uid !== process.geteuid?.() || stat.size > maxOwnerBytes) return null
      const bytes = Buffer.alloc(maxOwnerBytes)
      const text = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
      return ownerSchema.safeParse(JSON.parse(text)).data ?? null
    } finally {
      closeSync(fd)
    }
  } catch {
    return null
  }
}

/** An agentctl that ended while it made its entry had started nothing yet. */
function forgetDraft(directory: string): null {
  const [pid = 0, start = 0] = path.basename(directory).slice(1).split('-').map(Number)
  if (Number.isInteger(pid) && pid > 0 && isOver({ pid, start })) closeEntry({ directory })
  return null
}

async function reap(entry: DeadEntry, native: Native | null, result: Leftovers, deadline: number): Promise<void> {
  const cgroup = cgroupOfEntry(entry)
  const find = () => findLeft(entry, cgroup)
  const first = find()
  // Started by an effect of the one that is dead, this agentctl is itself what is left: another one ends it.
  if (first.some(({ pid }) => pid === process.pid)) return
  result.owners += 1
  if (cgroup !== null && isPopulated(cgroup)) killCgroup(cgroup)
  const { killed, left } = await killInPasses(native, find, Math.max(0, deadline - performance.now()))
  const isEnded = (seen: Seen) => !left.some(({ pid, start }) => pid === seen.pid && start === seen.start)
  // As they were before the kill: one that is dying has lost its name.
  const all = new Map([...killed, ...first.filter(isEnded)].map(seen => [`${seen.pid}:${seen.start}`, seen]))
  const effects = new Map(
    [...all.values(), ...left].map(seen => [seen.pid, 'effect' in seen ? String(seen.effect) : '']),
  )
  const told = ({ pid, command }: Seen): Leftover => ({ pid, command, effect: effects.get(pid) ?? '' })
  result.killed.push(...[...all.values()].map(told))
  result.left.push(...left.map(told))
  const home = cgroup ?? unfinishedCgroup(entry)
  if (left.length > 0 || (home !== null && !removeHome(home))) return
  closeEntry(entry)
}

/** The dead owner's cgroup where it is still that one; a name or an inode that differs is somebody else's. */
function cgroupOfEntry({ directory, owner: { cgroup } }: DeadEntry): string | null {
  if (cgroup === null || !isNamedAs(cgroup.directory, directory)) return null
  try {
    return statSync(cgroup.directory).ino === cgroup.inode ? cgroup.directory : null
  } catch {
    return null
  }
}

/** Where the owner was killed while it made its cgroup: nothing is in it, so that it is removed or let be. */
function unfinishedCgroup({ directory, owner: { cgroup } }: DeadEntry): string | null {
  return cgroup?.inode === null && isNamedAs(cgroup.directory, directory) ? cgroup.directory : null
}

const isNamedAs = (cgroup: string, entry: string): boolean => cgroup.endsWith(`/agentctl/${path.basename(entry)}`)

/** The living: members of the cgroup, holders of a marker that are no older than the owner, and who descends from them. */
function findLeft({ owner, markers }: DeadEntry, cgroup: string | null): (Seen & { effect: string })[] {
  const all = seeAll()
  const paths = new Set(markers.map(marker => marker.path))
  const effectOf = new Map<number, string>()
  for (const { number, effect } of markers)
    if (cgroup !== null) for (const pid of membersOf(path.join(cgroup, number))) effectOf.set(pid, effect)
  if (cgroup !== null) for (const pid of membersOf(cgroup)) if (!effectOf.has(pid)) effectOf.set(pid, '')
  for (const { pid, start } of all) {
    if (start < owner.start || effectOf.has(pid)) continue
    const held = heldFile(pid, paths)
    if (held !== null) effectOf.set(pid, markers.find(marker => marker.path === held)?.effect ?? '')
  }
  const byEffect = Map.groupBy(
    all.filter(({ pid }) => effectOf.has(pid)),
    ({ pid }) => effectOf.get(pid) ?? '',
  )
  const found = [...byEffect].flatMap(([effect, roots]) =>
    withDescendants(roots, all).map(seen => ({ ...seen, command: programOf(seen), effect })),
  )
  return [...new Map(found.filter(({ dead }) => !dead).map(seen => [seen.pid, seen])).values()]
}
