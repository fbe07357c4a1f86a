import { closeSync, fstatSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { Digest } from '../../policy/canonical.ts'
import { isWithin, shownPath } from './canonical-path.ts'
import { digestOf } from './digest-cache.ts'
import { openCanonical } from './open-real.ts'
import { codeOf, UnknownFact } from './unknown.ts'
import type { Workspace } from './workspace.ts'

/** Parts of one argument that are looked up; more than this is text, not a list of files. */
const partsMax = 256
/** An argument of more characters than this is a text, not a list of files either. */
const textLengthMin = 65_536

/**
 * Digests of the workspace's regular files that arguments name, by workspace-relative path. A file that a link of the
 * workspace leads to elsewhere is listed under the link's path. Throws UnknownFact for one that may not be read.
 */
export function argvFiles(workspace: Workspace, cwd: string, args: readonly string[]): { [path: string]: Digest } {
  const files = new Map<string, Digest>()
  const seen = new Set<string>()
  for (const name of args.flatMap(namesIn)) {
    if (seen.has(name)) continue
    seen.add(name)
    const file = digestOfNamed(workspace, cwd, name)
    if (file !== null) files.set(file.path, file.sha256)
  }
  // A file may be called `__proto__`, which an assignment would lose.
  return Object.fromEntries(files)
}

/**
 * What of an argument could be a path: all of it; behind each `=` (`--file=x`); behind a short option (`-fx`); behind `@`
 * (`@x`, `--data=@x`); and the members of a list by `:` or `,` (`-cp a.jar:b.jar`).
 */
export function namesIn(arg: string): string[] {
  if (arg.length > textLengthMin) return []
  const names = new Set([arg])
  for (let at = arg.indexOf('='); at >= 0 && names.size < partsMax; at = arg.indexOf('=', at + 1))
    names.add(arg.slice(at + 1))
  if (/^-[^-]./.test(arg)) names.add(arg.slice(2))
  for (const name of [...names]) {
    const members = name.split(/[:,]/)
    if (members.length > 1 && members.length <= partsMax) for (const member of members) names.add(member)
  }
  for (const name of [...names]) if (name.startsWith('@')) names.add(name.slice(1))
  names.delete('')
  return [...names]
}

function digestOfNamed(workspace: Workspace, cwd: string, name: string): { path: string; sha256: Digest } | null {
  // Not normalised: what `link/../x` means is for the system to say, and it is what the program will open.
  const place = path.isAbsolute(name) ? name : `${cwd}/${name}`
  let real: string
  try {
    real = realpathSync.native(place)
  } catch {
    return null
  }
  const lexical = path.resolve(place)
  const isReal = isWithin(workspace.root, real)
  if (!isReal && !isWithin(workspace.root, lexical)) return null
  const shown = shownPath(workspace.root, isReal ? real : lexical)
  let fd: number
  try {
    fd = openCanonical(real)
  } catch (error) {
    return unreadable(error, shown)
  }
  try {
    return fstatSync(fd).isFile() ? { path: shown, sha256: digestOf(fd) } : null
  } finally {
    closeSync(fd)
  }
}

/** Gone meanwhile, or a socket: no file. One that is there and cannot be read could change unseen. */
function unreadable(error: unknown, shown: string): null {
  if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'EPERM') return null
  throw new UnknownFact(
    'unreadable_argument',
    `args name the file ${JSON.stringify(shown)}, which agentctl may not read`,
  )
}
