import { closeSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Digest } from '../../policy/canonical.ts'
import type { PassedPlace, ProcessFact, VariableFact } from '../../policy/decision/facts.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import { argvFiles } from './argv-files.ts'
import { isWithin, shownPath } from './canonical-path.ts'
import { digestOf, keptDigestOf, type ProgramDigest } from './digest-cache.ts'
import { closeDirectory, type Directory, isInPlace, openDirectory } from './directory.ts'
import { type Executable, openExecutable } from './executable.ts'
import { openCanonical } from './open-real.ts'
import { trustJudge } from './program-places.ts'
import { canonicalInWorkspace } from './read-fact.ts'
import { UnknownFact, unknownOf } from './unknown.ts'
import type { Workspace } from './workspace.ts'

type KnownProcess = ProcessFact & { known: true }

/** A host process about to run, with its executable and working directory held open. The caller closes both. */
export interface ProcessPlace {
  fact: KnownProcess
  executable: Executable
  cwd: Directory
  /** Digests of the files that the arguments name as they are now. Throws UnknownFact. */
  argvFiles: () => { [path: string]: Digest }
  digest: ProgramDigest
}

export interface ProcessSurroundings {
  temporaryDirectories: readonly string[]
  searchPath: readonly string[]
  environment: { [name: string]: VariableFact }
  /** Value of the child's own PATH; undefined where it gets none. */
  childPath?: string | undefined
}

/** Finds out what a command would run. Throws CommandFault where nothing can run; anything else unknown is in the fact. */
export function processFact(
  workspace: Workspace,
  command: Pick<PlanCommand, 'command' | 'args' | 'cwd'>,
  surroundings: ProcessSurroundings,
): { fact: ProcessFact; place: ProcessPlace | null } {
  let cwd: Directory
  try {
    cwd = openWorkingDirectory(workspace, command.cwd)
  } catch (error) {
    const fact = unknownOf(error, command.cwd)
    return { fact: { ...fact, detail: `cwd: ${fact.detail}` }, place: null }
  }
  const judged = trustJudge(workspace, surroundings.temporaryDirectories)
  const digest: ProgramDigest = (fd, passed) => (isSystem(workspace, judged(passed)) ? keptDigestOf(fd) : digestOf(fd))
  let executable: Executable
  try {
    refuseParent(command.command)
    const { searchPath, childPath } = surroundings
    executable = openExecutable(command.command, cwd.path, searchPath, { childPath, digest })
  } catch (error) {
    closeDirectory(cwd)
    if (error instanceof UnknownFact) return { fact: error.fact, place: null }
    throw error
  }
  try {
    const named = () => argvFiles(workspace, cwd.path, command.args)
    const interpreters = executable.interpreters.map(one => ({ ...one, passed: judged(one.passed) }))
    const fact: KnownProcess = {
      known: true,
      command: command.command,
      basename: path.basename(command.command),
      realPath: executable.realPath,
      sha256: executable.sha256,
      passed: judged(executable.passed),
      interpreters: interpreters
        .filter(({ isLoader, passed }) => !isLoader || !isSystem(workspace, passed))
        .map(({ path: place, sha256, passed }) => ({ path: place, sha256, passed })),
      cwd: shownPath(workspace.root, cwd.path),
      argvFiles: named(),
      environment: surroundings.environment,
    }
    return { fact, place: { fact, executable, cwd, argvFiles: named, digest } }
  } catch (error) {
    closeProcessPlace({ executable, cwd })
    return { fact: unknownOf(error, command.command), place: null }
  }
}

/**
 * Whether what was decided about is still what would run: the program's descriptor still holds the bytes that were hashed,
 * its interpreters are the same files, its working directory stands where it stood, the files that its arguments name have
 * the content that they had. Null where nothing changed.
 */
export function changedSince(place: ProcessPlace): { code: string; message: string } | null {
  const { fact, executable, cwd, digest } = place
  const again = (what: string, code: string) => ({
    code,
    message: `${what} was changed since it was checked; nothing ran, run the task again`,
  })
  if (digest(executable.fd, executable.passed) !== fact.sha256) return again(fact.realPath, 'executable_changed')
  const replaced = fact.interpreters.find(one => digestAt(one, digest) !== one.sha256)
  if (replaced !== undefined) return again(`${replaced.path}, which runs ${fact.realPath},`, 'interpreter_changed')
  if (!isInPlace(cwd)) return again(`the working directory ${fact.cwd}`, 'cwd_changed')
  const changed = changedArgument(place)
  return changed === null ? null : again(changed, 'argv_files_changed')
}

/** The first file that arguments name and that is another now, is gone or has appeared; null for none. */
function changedArgument({ fact, argvFiles: named }: ProcessPlace): string | null {
  const before = new Map(Object.entries(fact.argvFiles))
  let now: Map<string, Digest>
  try {
    now = new Map(Object.entries(named()))
  } catch (error) {
    if (error instanceof UnknownFact) return 'a file that args name'
    throw error
  }
  const file = [...before.keys(), ...now.keys()].find(one => before.get(one) !== now.get(one))
  return file === undefined ? null : `${JSON.stringify(file)}, which args name,`
}

/** Whether nobody but the machine's owner could have put it there: its digest may be kept, its loader is the system's. */
function isSystem(workspace: Workspace, passed: readonly PassedPlace[]): boolean {
  return passed.every(({ path: place, untrusted }) => untrusted === '' && !isWithin(workspace.root, place))
}

function refuseParent(command: string): void {
  if (command.includes('/') && command.split('/').includes('..'))
    throw new UnknownFact('parent_traversal', `command ${JSON.stringify(command)} has a \`..\` component`)
}

function digestAt({ path: place, passed }: KnownProcess['interpreters'][number], digest: ProgramDigest): string | null {
  try {
    const fd = openCanonical(place)
    try {
      return digest(
        fd,
        passed.map(one => one.path),
      )
    } finally {
      closeSync(fd)
    }
  } catch {
    return null
  }
}

export function closeProcessPlace(place: Pick<ProcessPlace, 'executable' | 'cwd'>): void {
  closeDirectory(place.cwd)
  if (place.executable.fd >= 0) closeSync(place.executable.fd)
  place.executable.fd = -1
}

function openWorkingDirectory(workspace: Workspace, cwd: string): Directory {
  const real = canonicalInWorkspace(workspace, cwd === '' ? '.' : cwd)
  if (!statSync(real).isDirectory()) throw new UnknownFact('not_directory', `${JSON.stringify(cwd)} is not a directory`)
  return openDirectory(real)
}
