import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { loadNative } from '../../native/linux.ts'
import type { Native, NativeLayer } from '../../native/native.ts'
import { isPopulated, killCgroup, membersOf, removeHome } from './cgroup.ts'
import { killInPasses } from './passes.ts'
import { bootId, heldFile, isOver, pidNamespace, type Seen, seeAll, withDescendants } from './proc.ts'
import { checkPlace, closeEntry, type EntryOwner, readMarkerName, registryPlaces } from './registry.ts'

/** A process that an agentctl left behind; `effect` is empty where it is not known. */
export interface Leftover {
  pid: number
  /** The kernel's short name of the program. */
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
}

/** For tests; absent = this user's places, koffi. */
export interface ReapOptions {
  registry?: readonly string[]
  native?: NativeLayer
}

const budgetMilliseconds = 5_000

const ownerSchema: z.ZodType<EntryOwner> = z.object({
  pid: z.int().positive(),
  start: z.int().nonnegative(),
  boot: z.string(),
  pidNamespace: z.string(),
  cgroup: z.object({ directory: z.string(), inode: z.int() }).nullable(),
})

/**
 * Kills what agentctl processes of this user left on this host when they were killed themselves, found by cgroup and
 * marker, and forgets them. Never touches a live agentctl's processes, another pid namespace's or boot's, or one that was
 * given a number later. Where there is nothing it costs a few system calls. Never throws.
 */
export async function reapLeftovers(options: ReapOptions = {}): Promise<Leftovers> {
  const result: Leftovers = { killed: [], left: [], owners: 0 }
  if (process.platform !== 'linux') return result
  for (const entry of deadEntries(options.registry ?? registryPlaces(process.geteuid?.() ?? -1))) {
    const layer = options.native ?? loadNative()
    await reap(entry, 'native' in layer ? layer.native : null, result)
  }
  return result
}

interface DeadEntry {
  directory: string
  owner: EntryOwner
  /** Effect by marker path, and by the number that marker and cgroup share. */
  markers: { path: string; number: string; effect: string }[]
}

function deadEntries(places: readonly string[]): DeadEntry[] {
  return places.flatMap(place =>
    namesIn(place).flatMap((name): DeadEntry[] => {
      const directory = path.join(place, name)
      if (name.startsWith('.')) return forgetDraft(directory, name)
      const owner = readOwner(directory)
      if (owner === null) return []
      if (owner.boot !== bootId()) {
        closeEntry({ directory })
        return []
      }
      if (owner.pidNamespace !== pidNamespace() || !isOver(owner)) return []
      const canonical = realpathSync.native(directory)
      const markers = namesIn(directory, false).flatMap(file => {
        const named = readMarkerName(file)
        return named === null ? [] : { path: path.join(canonical, file), ...named }
      })
      return [{ directory, owner, markers }]
    }),
  )
}

/** Nothing where the place is not there, or is not this user's alone. */
function namesIn(place: string, check = true): string[] {
  try {
    const names = readdirSync(place)
    if (check) checkPlace(place)
    return names
  } catch {
    return []
  }
}

function readOwner(directory: string): EntryOwner | null {
  try {
    return ownerSchema.safeParse(JSON.parse(readFileSync(path.join(directory, 'owner.json'), 'utf8'))).data ?? null
  } catch {
    return null
  }
}

/** An agentctl that ended while it made its entry had started nothing yet. */
function forgetDraft(directory: string, name: string): [] {
  const [pid = 0, start = 0] = name.slice(1).split('-').map(Number)
  if (Number.isInteger(pid) && pid > 0 && isOver({ pid, start })) rmSync(directory, { recursive: true, force: true })
  return []
}

async function reap(entry: DeadEntry, native: Native | null, result: Leftovers): Promise<void> {
  const cgroup = cgroupOfEntry(entry)
  const find = () => findLeft(entry, cgroup)
  const first = find()
  // Started by an effect of the one that is dead, this agentctl is itself what is left: another one ends it.
  if (first.some(({ pid }) => pid === process.pid)) return
  result.owners += 1
  if (cgroup !== null && isPopulated(cgroup)) killCgroup(cgroup)
  const { killed, left } = await killInPasses(native, find, budgetMilliseconds)
  const isEnded = (seen: Seen) => !left.some(({ pid, start }) => pid === seen.pid && start === seen.start)
  const all = new Map([...first.filter(isEnded), ...killed].map(seen => [`${seen.pid}:${seen.start}`, seen]))
  const effects = new Map(
    [...all.values(), ...left].map(seen => [seen.pid, 'effect' in seen ? String(seen.effect) : '']),
  )
  const told = ({ pid, command }: Seen): Leftover => ({ pid, command, effect: effects.get(pid) ?? '' })
  result.killed.push(...[...all.values()].map(told))
  result.left.push(...left.map(told))
  if (left.length > 0 || (cgroup !== null && !removeHome(cgroup))) return
  closeEntry(entry)
}

/** The dead owner's cgroup where it is still that one; a name or an inode that differs is somebody else's. */
function cgroupOfEntry({ directory, owner: { cgroup } }: DeadEntry): string | null {
  if (cgroup === null || !cgroup.directory.endsWith(`/agentctl/${path.basename(directory)}`)) return null
  try {
    return statSync(cgroup.directory).ino === cgroup.inode ? cgroup.directory : null
  } catch {
    return null
  }
}

/** The living: members of the cgroup, holders of a marker that are no older than the owner, and who descends from them. */
function findLeft({ owner, markers }: DeadEntry, cgroup: string | null): (Seen & { effect: string })[] {
  const all = seeAll()
  const paths = markers.map(marker => marker.path)
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
    withDescendants(roots, all).map(seen => ({ ...seen, effect })),
  )
  return [...new Map(found.filter(({ dead }) => !dead).map(seen => [seen.pid, seen])).values()]
}
