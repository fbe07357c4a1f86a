import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { codeOf, UnknownFact } from './unknown.ts'

/**
 * The components of a path as a document names it, checked before anything is opened: no `..`, no NUL, not empty.
 * Throws UnknownFact.
 */
export function checkRequested(requested: string): void {
  if (requested === '') throw new UnknownFact('empty_path', 'the path is empty')
  if (requested.includes('\0')) throw new UnknownFact('nul_byte', 'the path holds a NUL byte')
  const separators = process.platform === 'win32' ? /[\\/]/ : /\//
  if (requested.split(separators).includes('..'))
    throw new UnknownFact('parent_traversal', `${JSON.stringify(requested)} has a \`..\` component`)
}

/** Whether `inner` is `outer` or lies below it; both canonical. */
export function isWithin(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(path.sep) ? outer : outer + path.sep)
}

/** `/`-separated path below the workspace, or the absolute one where it lies elsewhere. */
export function shownPath(workspace: string, absolute: string): string {
  const shown = isWithin(workspace, absolute) ? path.relative(workspace, absolute) || '.' : absolute
  return path.sep === '/' ? shown : shown.replaceAll(path.sep, '/')
}

/**
 * A path of which some of the end may not exist yet: the real path of its nearest existing part, and the names below it.
 * Refuses a dangling link anywhere and anything but a directory above a missing name. Throws UnknownFact and system errors.
 */
export function nearestExisting(absolute: string): { real: string; missing: string[] } {
  const missing: string[] = []
  let current = path.resolve(absolute)
  for (;;) {
    try {
      const real = realpathSync.native(current)
      if (missing.length > 0 && !statSync(real).isDirectory())
        throw new UnknownFact('not_directory', `${JSON.stringify(current)} is a file where a directory should be`)
      return { real, missing }
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      refuseDangling(current)
      const parent = path.dirname(current)
      if (parent === current) throw error
      missing.unshift(path.basename(current))
      current = parent
    }
  }
}

function refuseDangling(place: string): void {
  try {
    if (!lstatSync(place).isSymbolicLink()) return
  } catch {
    return
  }
  throw new UnknownFact(
    'dangling_symlink',
    `${JSON.stringify(place)} is a symbolic link to ${JSON.stringify(readlinkSync(place))}, which does not exist`,
  )
}
