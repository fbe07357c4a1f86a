import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { digestOf } from './digest-cache.ts'
import { at, closeDirectory, type Directory, isInPlace, openChild, pinsPaths, syncDirectory } from './directory.ts'
import { codeOf } from './unknown.ts'
import type { WritePlace } from './write-fact.ts'

/** How a replacement ended; only `uncertain` leaves open where the bytes are. */
export type Replacement =
  | { kind: 'done' }
  | { kind: 'failed'; code: string; message: string }
  | { kind: 'uncertain'; message: string }

/**
 * Puts bytes in the place that was checked, or removes its file (`bytes` null): missing directories one by one, a fresh
 * temporary file in the directory's own descriptor, a rename within it. A place that no longer is what was checked is
 * left alone.
 */
export function replaceFile(place: WritePlace, bytes: Uint8Array | null, mode: number): Replacement {
  const opened: Directory[] = []
  try {
    let directory = place.directory
    for (const name of place.missing) {
      const parent = directory
      directory = openChild(parent, name, true)
      opened.push(directory)
      syncDirectory(parent)
    }
    const moved = stillAsChecked(place, directory)
    if (moved !== null) return moved
    if (bytes === null) unlinkSync(at(directory, place.name))
    else writeAndRename(place, directory, bytes, mode)
    syncDirectory(directory)
    if (!pinsPaths && !isInPlace(directory))
      return { kind: 'uncertain', message: `${directory.path} changed while ${place.fact.path} was written` }
    return { kind: 'done' }
  } catch (error) {
    return failure(error, place.fact.path)
  } finally {
    for (const directory of opened) closeDirectory(directory)
  }
}

function writeAndRename(place: WritePlace, directory: Directory, bytes: Uint8Array, mode: number): void {
  const temporary = `.agentctl-${randomBytes(9).toString('base64url')}.tmp`
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const fd = openSync(at(directory, temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
      fchmodSync(fd, mode)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    const changed = stillAsChecked(place, directory)
    if (changed !== null) throw new Changed(changed)
    renameSync(at(directory, temporary), at(directory, place.name))
  } catch (error) {
    try {
      unlinkSync(at(directory, temporary))
    } catch {
      // Already renamed or gone: nothing of ours is left.
    }
    throw error
  }
}

/** Null while directory and file are what the decision was about. */
function stillAsChecked(place: WritePlace, directory: Directory): Replacement | null {
  const refuse = (message: string): Replacement => ({
    kind: 'failed',
    code: 'replaced_file_changed',
    message: `${place.fact.path}: ${message} since it was checked; nothing was written, run the task again`,
  })
  if (!isInPlace(directory)) return refuse('its directory was moved or replaced')
  let current: string | null = null
  try {
    const stat = lstatSync(at(directory, place.name))
    current = `${stat.dev}:${stat.ino}`
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  if (place.replaced === null) return current === null ? null : refuse('a file appeared there')
  if (current !== place.replaced.identity) return refuse('the file was replaced or removed')
  return digestOf(place.replaced.fd) === place.fact.before?.sha256 ? null : refuse('its content changed')
}

class Changed extends Error {
  readonly replacement: Replacement
  constructor(replacement: Replacement) {
    super('changed')
    this.replacement = replacement
  }
}

function failure(error: unknown, path: string): Replacement {
  if (error instanceof Changed) return error.replacement
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return { kind: 'failed', code: 'disk_full', message: `${path}: the disk is full; make room and run again` }
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return {
      kind: 'failed',
      code: 'not_permitted',
      message: `${path}: this file system does not let agentctl write (${code}); let agentctl's user write there, or name another place`,
    }
  if (code === 'ENOTDIR' || code === 'ELOOP')
    return {
      kind: 'failed',
      code: 'replaced_file_changed',
      message: `${path}: a directory was replaced since it was checked; nothing was written, run the task again`,
    }
  return {
    kind: 'failed',
    code: 'write_failed',
    message: `${path}: ${error instanceof Error ? error.message : String(error)}; correct that and run the task again`,
  }
}
