import { accessSync, closeSync, constants, fstatSync, lstatSync, type Stats } from 'node:fs'
import path from 'node:path'
import { sha256 } from '../../policy/canonical.ts'
import type { SecretFileFact } from '../../policy/decision/facts.ts'
import { checkRequested, isWithin, nearestExisting, shownPath } from '../facts/canonical-path.ts'
import { at, closeDirectory, type Directory, openDirectory, openFile } from '../facts/directory.ts'
import { readAll } from '../facts/read-fact.ts'
import { codeOf, UnknownFact, unknownOf } from '../facts/unknown.ts'
import { secretFileRoots, type Workspace } from '../facts/workspace.ts'
import { secretText } from './text.ts'

/** Most bytes of a secret file. */
export const secretBytesMax = 65_536

type Place = Pick<Workspace, 'root' | 'policy'>

/**
 * Reads a secret file: canonical, under a secret root, opened component by component with no link followed, so that the
 * file that was checked is the one that is read. What lies under no root is not opened. `value` is null with a fault.
 */
export function readSecretFile(workspace: Place, file: string): { fact: SecretFileFact; value: string | null } {
  const found = locate(workspace, file)
  if (found.absolute === null) return { fact: found.fact, value: null }
  try {
    const value = readValue(found.absolute, file)
    return { fact: { ...found.fact, sha256: sha256(value) }, value }
  } catch (error) {
    return { fact: { ...found.fact, fault: unknownOf(error, file) }, value: null }
  }
}

/** Looks whether a secret file could be read, as far as that can be told without opening it. */
export function lookAtSecretFile(workspace: Place, file: string): SecretFileFact {
  const { fact, absolute } = locate(workspace, file)
  if (absolute === null) return fact
  try {
    withDirectory(absolute, (directory, name) => {
      checkStat(lstatSync(at(directory, name)), file)
      accessSync(at(directory, name), constants.R_OK)
    })
    return fact
  } catch (error) {
    return { ...fact, fault: unknownOf(error, file) }
  }
}

/** The root that holds the real place of a file. `absolute` is null where it is not to be looked at any further. */
function locate(workspace: Place, file: string): { fact: SecretFileFact; absolute: string | null } {
  const nowhere = { file, root: null, path: null, sha256: null }
  try {
    checkRequested(file)
  } catch (error) {
    return { fact: { ...nowhere, fault: unknownOf(error, file) }, absolute: null }
  }
  const lexical = path.resolve(workspace.root, file)
  const roots = secretFileRoots(workspace)
  const rootOf = (place: string) => roots.find(({ real }) => real !== null && isWithin(real, place))?.written ?? null
  const unusable = roots.find(({ fault, lexical: place }) => fault !== null && isWithin(place, lexical))?.fault ?? null
  try {
    const { real, missing } = nearestExisting(lexical)
    const absolute = path.join(real, ...missing)
    const root = rootOf(absolute)
    if (root === null && unusable !== null)
      return { fact: { ...nowhere, fault: { known: false, ...unusable, cause: 'root_unusable' } }, absolute: null }
    if (root === null) return { fact: nowhere, absolute: null }
    const fact = { ...nowhere, root, path: shownPath(workspace.root, absolute) }
    if (missing.length === 0) return { fact, absolute }
    return { fact: { ...fact, fault: unknownOf(notThere(), file) }, absolute: null }
  } catch (error) {
    // A link that became a file between two looks at it.
    const known = codeOf(error) === 'EINVAL' ? changed(file) : error
    // Of a place that no root would hold, not even this is told: the rules refuse it for its root.
    return { fact: { ...nowhere, root: rootOf(lexical), fault: unknownOf(known, file) }, absolute: null }
  }
}

function readValue(absolute: string, file: string): string {
  const subject = JSON.stringify(file)
  const fd = withDirectory(absolute, (directory, name) => {
    // Opening a device or a FIFO can do something by itself: what is none is found out before.
    checkStat(lstatSync(at(directory, name)), file)
    return openFile(directory, name)
  })
  try {
    checkStat(fstatSync(fd), file)
    const bytes = readAll(fd, secretBytesMax)
    if (bytes === null) throw changed(file)
    const text = secretText(bytes)
    bytes.fill(0)
    if (!text.ok) throw new UnknownFact(text.cause, `${subject} ${text.detail}`)
    return text.value
  } finally {
    closeSync(fd)
  }
}

/** A canonical path holds no link: one that is met now was put there since. */
function withDirectory<Result>(absolute: string, use: (directory: Directory, name: string) => Result): Result {
  let directory: Directory | null = null
  try {
    directory = openDirectory(path.dirname(absolute))
    return use(directory, path.basename(absolute))
  } catch (error) {
    throw ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error)) ? changed(absolute) : error
  } finally {
    if (directory !== null) closeDirectory(directory)
  }
}

function checkStat(stat: Stats, file: string): void {
  const subject = JSON.stringify(file)
  if (stat.isSymbolicLink()) throw changed(file)
  if (stat.isDirectory()) throw new UnknownFact('is_directory', `${subject} is a directory`)
  if (!stat.isFile()) throw new UnknownFact('not_regular', `${subject} is a FIFO, a socket or a device`)
  if (stat.size > secretBytesMax)
    throw new UnknownFact('secret_too_large', `${subject} is larger than ${secretBytesMax} bytes`)
  if (stat.size === 0) throw new UnknownFact('empty_secret', `${subject} is empty`)
}

function changed(file: string): UnknownFact {
  return new UnknownFact('file_changed', `${JSON.stringify(file)} was replaced or written to while it was read`)
}

function notThere(): Error {
  return Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
}
