import { closeSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { sha256 } from '../../policy/canonical.ts'
import type { ProcessFact } from '../../policy/decision/facts.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import { isWithin, shownPath } from './canonical-path.ts'
import { digestOf } from './digest-cache.ts'
import { closeDirectory, type Directory, openDirectory } from './directory.ts'
import { type Executable, openExecutable } from './executable.ts'
import { canonicalInWorkspace, openForReading } from './read-fact.ts'
import { UnknownFact, unknownOf } from './unknown.ts'
import { type Workspace, writableRoots } from './workspace.ts'

/** A host process about to run, with its executable and working directory held open. The caller closes both. */
export interface ProcessPlace {
  fact: ProcessFact & { known: true }
  executable: Executable
  cwd: Directory
}

export interface ProcessSurroundings {
  temporaryDirectories: readonly string[]
  searchPath: readonly string[]
  /** Value of a secret reference's source, undefined where it is not set. */
  environment: { [name: string]: { source: string; value: string | undefined } }
}

/** Finds out what a command would run. Throws CommandFault where nothing can run; anything else unknown is in the fact. */
export function processFact(
  workspace: Workspace,
  command: PlanCommand,
  surroundings: ProcessSurroundings,
): { fact: ProcessFact; place: ProcessPlace | null } {
  let cwd: Directory
  try {
    cwd = openWorkingDirectory(workspace, command.cwd)
  } catch (error) {
    const fact = unknownOf(error, command.cwd)
    return { fact: { ...fact, detail: `cwd: ${fact.detail}` }, place: null }
  }
  let executable: Executable
  try {
    executable = openExecutable(command.command, cwd.path, surroundings.searchPath)
  } catch (error) {
    closeDirectory(cwd)
    throw error
  }
  try {
    const fact: ProcessFact & { known: true } = {
      known: true,
      command: command.command,
      basename: path.basename(command.command),
      realPath: executable.realPath,
      sha256: executable.sha256,
      passed: judgePassed(workspace, executable.passed, surroundings.temporaryDirectories),
      cwd: shownPath(workspace.root, cwd.path),
      argvFiles: argvFiles(workspace, cwd.path, command.args),
      environment: Object.fromEntries(
        Object.entries(surroundings.environment).map(([name, { source, value }]) => [
          name,
          { source, sha256: value === undefined ? null : sha256(value) },
        ]),
      ),
    }
    return { fact, place: { fact, executable, cwd } }
  } catch (error) {
    closeProcessPlace({ executable, cwd })
    return { fact: unknownOf(error, command.command), place: null }
  }
}

export function closeProcessPlace(place: Pick<ProcessPlace, 'executable' | 'cwd'>): void {
  closeDirectory(place.cwd)
  if (place.executable.fd >= 0) closeSync(place.executable.fd)
  place.executable.fd = -1
}

function openWorkingDirectory(workspace: Workspace, cwd: string): Directory {
  const real = canonicalInWorkspace(workspace, cwd === '' ? '.' : cwd)
  if (!statSync(real).isDirectory())
    throw new UnknownFact('not_directory', `${JSON.stringify(cwd)} is not a directory; name the directory to run in`)
  return openDirectory(real)
}

type Passed = (ProcessFact & { known: true })['passed']

/** Why a place cannot be trusted to hold a program: somebody other than the machine's owner could have put it there. */
function judgePassed(workspace: Workspace, passed: readonly string[], temporary: readonly string[]): Passed {
  const roots = writableRoots(workspace).flatMap(({ lexical, real }) => (real === null ? [lexical] : [lexical, real]))
  const temporaries = ['/tmp', ...temporary].flatMap(directory => [path.resolve(directory), realOr(directory)])
  const open = new Map<string, boolean>()
  return passed.map(place => {
    const places = [place, realOr(place)]
    const isBelow = (directories: readonly string[]) =>
      places.some(one => directories.some(directory => isWithin(directory, one)))
    if (isBelow(roots)) return { path: place, untrusted: 'writable_root' }
    if (isBelow(temporaries)) return { path: place, untrusted: 'temporary' }
    const isOpen = places.some(one => parentsOf(one).some(directory => othersMayWrite(directory, open)))
    return { path: place, untrusted: isOpen ? 'others_writable' : '' }
  })
}

function parentsOf(place: string): string[] {
  const parents: string[] = []
  for (let current = path.dirname(place); ; current = path.dirname(current)) {
    parents.push(current)
    if (path.dirname(current) === current) return parents
  }
}

/** By mode bits: access(2) would say yes to root for everything. An unreadable directory counts as writable. */
function othersMayWrite(directory: string, known: Map<string, boolean>): boolean {
  const before = known.get(directory)
  if (before !== undefined) return before
  let mayWrite = true
  try {
    mayWrite = (statSync(directory).mode & 0o002) !== 0
  } catch {
    // As said above.
  }
  known.set(directory, mayWrite)
  return mayWrite
}

/** Digests of the workspace's regular files that arguments name, as a whole or after a `=`. */
function argvFiles(workspace: Workspace, cwd: string, args: readonly string[]): { [path: string]: string } {
  const files = new Map<string, string>()
  const candidates = args.flatMap(arg => (arg.includes('=') ? [arg, arg.slice(arg.indexOf('=') + 1)] : [arg]))
  for (const candidate of candidates) {
    try {
      // A `..` inside an argument is the program's own business; its canonical place is what counts here.
      const file = openForReading(workspace, path.resolve(cwd, candidate))
      try {
        files.set(file.fact.path, digestOf(file.fd))
      } finally {
        closeSync(file.fd)
      }
    } catch {
      // Names no file of the workspace: an ordinary argument.
    }
  }
  // A file may be called `__proto__`, which an assignment would lose.
  return Object.fromEntries(files)
}

function realOr(place: string): string {
  try {
    return realpathSync.native(place)
  } catch {
    return path.resolve(place)
  }
}
