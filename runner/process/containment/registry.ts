import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describeError } from '../../../policy/redact.ts'
import { firstNames, type Owner } from './proc.ts'

/**
 * Where live agentctl processes of this user are told of, so that what one leaves when it is killed can be found. Not below
 * the job's own temporary folder, which the runner wipes. The first that can be had is used, all are looked through.
 */
export function registryPlaces(uid: number): string[] {
  const place = `/tmp/agentctl-${uid}/processes`
  return uid === 0 ? ['/run/agentctl/processes', place] : [`/run/user/${uid}/agentctl/processes`, place]
}

/** An empty file that every process of an effect inherits as descriptor 3. */
export interface Marker {
  fd: number
  /** Its path, which stays its name in /proc where it is removed. */
  path: string
  inode: number
}

/** What one agentctl has in the registry: `owner.json`, and a marker per effect that it runs. */
export interface Entry {
  /** Canonical, since /proc tells open files so. */
  directory: string
  /** Inode of its `owner.json`. */
  inode: number
}

export interface EntryOwner extends Owner {
  /** `inode` is null while it is being made: until then nothing of an effect is in it. */
  cgroup: { directory: string; inode: number | null } | null
}

/** More markers than this are not looked at: one agentctl runs far fewer effects at once. */
export const maxMarkers = 1_024
const ownerFile = 'owner.json'

/** Makes this process's entry, complete from the moment at which it can be seen. */
export function openEntry(
  name: string,
  owner: EntryOwner,
  places: readonly string[],
): { entry: Entry } | { absent: string } {
  const refusals: string[] = []
  for (const place of places) {
    try {
      makePlace(place)
      const draft = path.join(place, `.${name}`)
      mkdirSync(draft, { mode: 0o700 })
      writeFileSync(path.join(draft, ownerFile), JSON.stringify(owner), { mode: 0o600 })
      renameSync(draft, path.join(place, name))
      const directory = realpathSync.native(path.join(place, name))
      return { entry: { directory, inode: lstatSync(path.join(directory, ownerFile)).ino } }
    } catch (error) {
      refusals.push(`${place}: ${describeError(error)}`)
    }
  }
  return { absent: refusals.join('; ') }
}

/** Writes anew who the entry is of, in one step. Throws where that cannot be. */
export function rewriteEntry({ directory }: Entry, owner: EntryOwner): Entry {
  const [draft, place] = [path.join(directory, `.${ownerFile}`), path.join(directory, ownerFile)]
  writeFileSync(draft, JSON.stringify(owner), { mode: 0o600, flag: 'wx' })
  renameSync(draft, place)
  return { directory, inode: lstatSync(place).ino }
}

/**
 * Removes an entry with its files, `owner.json` last. Never throws, and takes away no more than an entry can hold: what
 * somebody else put into it keeps the directory.
 */
export function closeEntry({ directory }: Pick<Entry, 'directory'>): void {
  try {
    const { names, isAll } = firstNames(directory, maxMarkers)
    for (const name of names) if (name !== ownerFile) attempt(() => unlinkSync(path.join(directory, name)))
    if (!isAll) return
    attempt(() => unlinkSync(path.join(directory, ownerFile)))
    rmdirSync(directory)
  } catch {
    // It is gone, or not an entry any more.
  }
}

/** Why what this effect leaves would not be found after a crash any more; null while it would. */
export function lostReason({ directory, inode }: Entry, marker: Marker | null): string | null {
  const place = path.join(directory, ownerFile)
  if (inodeOf(place) !== inode) return `${place} is no longer what agentctl wrote: something removed or replaced it`
  if (marker === null) return `its marker could not be made in ${directory}`
  return inodeOf(marker.path) === marker.inode ? null : `its marker ${marker.path} was removed or replaced`
}

function inodeOf(place: string): number | null {
  try {
    return lstatSync(place).ino
  } catch {
    return null
  }
}

function attempt(act: () => void): void {
  try {
    act()
  } catch {
    // The directory stays, and with it what could not be removed.
  }
}

/** The marker of one effect, which its name tells. Without an entry it is in no directory. */
export function openMarker(entry: Entry | null, number: number, effect: string): Marker | null {
  const name = markerName(number, effect)
  const place = path.join(entry?.directory ?? tmpdir(), entry === null ? `.agentctl-${randomUUID()}-${name}` : name)
  try {
    // Read-only: what a process could write there would be on agentctl's account.
    const fd = openSync(place, constants.O_RDONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)
    const inode = fstatSync(fd).ino
    if (entry !== null) return { fd, path: place, inode }
    const shown = readlinkSync(`/proc/self/fd/${fd}`)
    unlinkSync(place)
    return { fd, path: shown, inode }
  } catch {
    return null
  }
}

/** `<number>`, which its cgroup is called too, then the effect's id as far as a file name holds it. */
function markerName(number: number, effect: string): string {
  return `${number}-${effect.replaceAll(/[^\w.-]/g, '_').slice(0, 128)}`
}

/** What a marker's name tells; null for another file. */
export function readMarkerName(name: string): { number: string; effect: string } | null {
  const [, number, effect] = /^(\d+)-([\w.-]*)$/.exec(name) ?? []
  return number === undefined || effect === undefined ? null : { number, effect }
}

export function closeMarker({ fd, path: place }: Marker): void {
  closeSync(fd)
  try {
    unlinkSync(place)
  } catch {
    // It had no name any more.
  }
}

/** Throws where the place, or the directory that it lies in, is not this user's alone. */
export function checkPlace(place: string): void {
  checkDirectory(path.dirname(place), 0o022)
  checkDirectory(place, 0o077)
}

function makePlace(place: string): void {
  const parent = path.dirname(place)
  // Root's is also where others may have to pass through; below /tmp nobody has to.
  const mode = parent.startsWith('/run/') ? 0o755 : 0o700
  for (const [directory, bits] of [
    [parent, mode],
    [place, 0o700],
  ] as const) {
    try {
      mkdirSync(directory, { mode: bits })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
  checkPlace(place)
}

function checkDirectory(directory: string, forbidden: number): void {
  const stat = lstatSync(directory)
  const mine = process.geteuid?.() ?? -1
  if (!stat.isDirectory()) throw new Error(`${directory} is not a directory`)
  if (stat.uid !== mine) throw new Error(`${directory} belongs to user ${stat.uid}, not to user ${mine}`)
  if ((stat.mode & forbidden) !== 0) throw new Error(`${directory} is open to others; run chmod go-rwx on it`)
}
