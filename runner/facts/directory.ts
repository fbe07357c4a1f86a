import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import path from 'node:path'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
/** Not in fs.constants; Linux on every architecture that Node supports. */
const O_PATH = 0o10000000

/** Whether a path can be pinned: check and use on one object, by descriptor. Elsewhere real paths are compared before and after. */
export const pinsPaths = process.platform === 'linux'

/**
 * A directory that stays the one that was checked. On Linux it holds a descriptor and every use goes through it; elsewhere
 * it only remembers its path.
 */
export interface Directory {
  /** Canonical path at the time it was opened. */
  path: string
  fd: number | null
}

/** Path of an entry of an open directory, resolved by the kernel from the descriptor; for the last component only. */
export function at(directory: Directory, name: string): string {
  return directory.fd === null ? path.join(directory.path, name) : `/proc/self/fd/${directory.fd}/${name}`
}

/**
 * Opens a canonical absolute directory component by component, no link followed anywhere: a component swapped for a link
 * since it was canonicalised gives ENOTDIR. Throws Node's system errors.
 */
export function openDirectory(canonicalPath: string): Directory {
  if (!pinsPaths) {
    if (!lstatSync(canonicalPath).isDirectory()) throw notDirectory(canonicalPath)
    return { path: canonicalPath, fd: null }
  }
  let fd = openSync('/', O_PATH | O_DIRECTORY)
  for (const name of canonicalPath.split('/').filter(part => part !== '')) {
    try {
      const next = openSync(`/proc/self/fd/${fd}/${name}`, O_PATH | O_DIRECTORY | O_NOFOLLOW)
      closeSync(fd)
      fd = next
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }
  return { path: canonicalPath, fd }
}

/** Opens a sub-directory, made first where `create` is set and it is missing. The given directory stays open. */
export function openChild(directory: Directory, name: string, create: boolean): Directory {
  const place = at(directory, name)
  if (create) {
    try {
      mkdirSync(place, 0o755)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
  const childPath = path.join(directory.path, name)
  if (directory.fd === null) {
    if (!lstatSync(childPath).isDirectory()) throw notDirectory(childPath)
    return { path: childPath, fd: null }
  }
  return { path: childPath, fd: openSync(place, O_PATH | O_DIRECTORY | O_NOFOLLOW) }
}

/** Opens a directory's file for reading: never through a link, never blocking on a FIFO. The caller closes it. */
export function openFile(directory: Directory, name: string): number {
  return openSync(at(directory, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
}

/** Whether the directory still stands where it was checked; false once it or a parent was moved or replaced. */
export function isInPlace(directory: Directory): boolean {
  try {
    if (directory.fd === null) return realpathSync.native(directory.path) === directory.path
    return readlinkSync(`/proc/self/fd/${directory.fd}`) === directory.path
  } catch {
    return false
  }
}

/** Makes the directory's entries durable. */
export function syncDirectory(directory: Directory): void {
  if (process.platform === 'win32') return
  const fd = openSync(at(directory, '.'), O_RDONLY | O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export function closeDirectory(directory: Directory): void {
  if (directory.fd !== null) closeSync(directory.fd)
  directory.fd = null
}

/** Device and inode as one comparable word. */
export function identityOf(fd: number): string {
  const { dev, ino } = fstatSync(fd)
  return `${dev}:${ino}`
}

function notDirectory(place: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${place} is not a directory`), { code: 'ENOTDIR' })
}
