import { closeSync, fstatSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { WriteFact } from '../../policy/decision/facts.ts'
import { checkRequested, isWithin, nearestExisting, shownPath } from './canonical-path.ts'
import { digestOf } from './digest-cache.ts'
import { at, closeDirectory, type Directory, identityOf, openDirectory, openFile } from './directory.ts'
import { protectedBy } from './protected.ts'
import { codeOf, UnknownFact, unknownOf } from './unknown.ts'
import { type Workspace, writableRoots } from './workspace.ts'

/** Where a write goes, held open: the directory nearest to it, what is to be made below, and what it would replace. */
export interface WritePlace {
  fact: WriteFact & { known: true }
  /** Canonical, open; the caller closes it with `closeWritePlace`. */
  directory: Directory
  /** Directories to make below it, in order. */
  missing: string[]
  name: string
  /** The file to be replaced, open for reading; null where there is none. */
  replaced: { fd: number; identity: string } | null
}

/** Finds and opens the place of a write; with a refusal as a fact where it cannot be known. */
export function writeFact(workspace: Workspace, requested: string): { fact: WriteFact; place: WritePlace | null } {
  try {
    const place = openForWriting(workspace, requested)
    return { fact: place.fact, place }
  } catch (error) {
    return { fact: unknownOf(error, requested), place: null }
  }
}

function openForWriting(workspace: Workspace, requested: string): WritePlace {
  checkRequested(requested)
  if (requested.endsWith('/') || path.basename(requested) === '.')
    throw new UnknownFact('is_directory', `${JSON.stringify(requested)} names a directory`)
  const lexical = path.resolve(workspace.root, requested)
  const { real, missing } = nearestExisting(lexical)
  const absolute = path.join(real, ...missing)
  const root = rootOf(workspace, lexical, absolute)
  const exists = missing.length === 0
  const name = path.basename(absolute)
  const directory = openDirectory(exists ? path.dirname(real) : real)
  try {
    if (!exists) refuseUnicodeTwin(directory, missing[0] ?? name)
    const replaced = exists ? openReplaced(directory, name, requested) : null
    return {
      fact: {
        known: true,
        requested,
        path: shownPath(workspace.root, absolute),
        absolute,
        root,
        protectedBy: protectedBy(workspace.protection, lexical) ?? protectedBy(workspace.protection, absolute),
        before: replaced?.before ?? null,
      },
      directory,
      missing: missing.slice(0, -1),
      name,
      replaced: replaced === null ? null : { fd: replaced.fd, identity: replaced.identity },
    }
  } catch (error) {
    closeDirectory(directory)
    throw error
  }
}

/** Gives the descriptors back. */
export function closeWritePlace(place: WritePlace): void {
  closeDirectory(place.directory)
  if (place.replaced !== null) closeSync(place.replaced.fd)
  place.replaced = null
}

function rootOf(workspace: Workspace, lexical: string, absolute: string): string | null {
  const roots = writableRoots(workspace)
  const root = roots.find(({ real }) => real !== null && isWithin(real, absolute))
  if (root !== undefined) return root.written
  const meant = roots.find(({ lexical: place, fault }) => fault !== null && isWithin(place, lexical))
  if (meant?.fault) throw new UnknownFact(meant.fault.cause, meant.fault.detail)
  return null
}

function openReplaced(directory: Directory, name: string, requested: string) {
  let fd: number
  try {
    fd = openFile(directory, name)
  } catch (error) {
    if (codeOf(error) === 'ENXIO')
      throw new UnknownFact('not_regular', `${JSON.stringify(requested)} is a socket or a FIFO`)
    throw error
  }
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory()) throw new UnknownFact('is_directory', `${JSON.stringify(requested)} is a directory`)
    if (!stat.isFile()) throw new UnknownFact('not_regular', `${JSON.stringify(requested)} is not a regular file`)
    const before = { sha256: digestOf(fd), bytes: stat.size, mode: stat.mode & 0o777 }
    return { fd, identity: identityOf(fd), before }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Two names that differ only by Unicode form look the same to whoever approves: the second one is not made. */
function refuseUnicodeTwin(directory: Directory, name: string): void {
  if (/^[\x20-\x7e]*$/.test(name)) return
  const form = name.normalize('NFC')
  const twin = readdirSync(at(directory, '.')).find(entry => entry !== name && entry.normalize('NFC') === form)
  if (twin === undefined) return
  throw new UnknownFact(
    'unicode_form',
    `${JSON.stringify(name)} differs only by Unicode form from ${JSON.stringify(twin)} which exists`,
  )
}
