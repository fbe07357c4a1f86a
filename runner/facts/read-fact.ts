import { closeSync, fstatSync, readSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { PathFact } from '../../policy/decision/facts.ts'
import { checkRequested, isWithin, shownPath } from './canonical-path.ts'
import { closeDirectory, openDirectory, openFile } from './directory.ts'
import { UnknownFact, unknownOf } from './unknown.ts'
import type { Workspace } from './workspace.ts'

/** An existing regular file of the workspace, held open: what was checked is what is read. The caller closes `fd`. */
export interface OpenedFile {
  fact: PathFact & { known: true }
  absolute: string
  fd: number
  bytes: number
  mode: number
}

/** Canonical place of an existing file or directory that must lie in the workspace; a relative path starts at `from`. */
export function canonicalInWorkspace(workspace: Workspace, requested: string, from = workspace.root): string {
  checkRequested(requested)
  const real = realpathSync.native(path.resolve(from, requested))
  if (!isWithin(workspace.root, real))
    throw new UnknownFact(
      'symlink_escape',
      `${JSON.stringify(requested)} is ${real}, outside the workspace ${workspace.root}`,
    )
  return real
}

/** Opens a regular file of the workspace. Throws UnknownFact and system errors: see `unknownOf`. */
export function openForReading(workspace: Workspace, requested: string, from = workspace.root): OpenedFile {
  const absolute = canonicalInWorkspace(workspace, requested, from)
  const directory = openDirectory(path.dirname(absolute))
  let fd: number
  try {
    fd = openFile(directory, path.basename(absolute))
  } finally {
    closeDirectory(directory)
  }
  const stat = fstatSync(fd)
  if (!stat.isFile()) {
    closeSync(fd)
    throw stat.isDirectory()
      ? new UnknownFact('is_directory', `${JSON.stringify(requested)} is a directory`)
      : new UnknownFact('not_regular', `${JSON.stringify(requested)} is not a regular file`)
  }
  return {
    fact: { known: true, requested, path: shownPath(workspace.root, absolute) },
    absolute,
    fd,
    bytes: stat.size,
    mode: stat.mode & 0o777,
  }
}

/** As `openForReading`, with the refusal as a fact. */
export function readFact(workspace: Workspace, requested: string): { fact: PathFact; file: OpenedFile | null } {
  try {
    const file = openForReading(workspace, requested)
    return { fact: file.fact, file }
  } catch (error) {
    return { fact: unknownOf(error, requested), file: null }
  }
}

/** All bytes of an open file from its start, null where there are more than `limit`. */
export function readAll(fd: number, limit: number): Uint8Array | null {
  const { size } = fstatSync(fd)
  if (size > limit) return null
  const buffer = Buffer.alloc(size + 1)
  let length = 0
  for (;;) {
    const read = readSync(fd, buffer, length, buffer.length - length, length)
    if (read === 0) return buffer.subarray(0, length)
    length += read
    if (length > size) return null
  }
}
