import { closeSync, statSync } from 'node:fs'
import path from 'node:path'
import type { ProcessFact, VariableFact } from '../../policy/decision/facts.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import { argvFiles } from './argv-files.ts'
import { shownPath } from './canonical-path.ts'
import { digestOf } from './digest-cache.ts'
import { closeDirectory, type Directory, isInPlace, openDirectory } from './directory.ts'
import { type Executable, openExecutable } from './executable.ts'
import { openCanonical } from './open-real.ts'
import { trustJudge } from './program-places.ts'
import { canonicalInWorkspace } from './read-fact.ts'
import { UnknownFact, unknownOf } from './unknown.ts'
import type { Workspace } from './workspace.ts'

/** A host process about to run, with its executable and working directory held open. The caller closes both. */
export interface ProcessPlace {
  fact: ProcessFact & { known: true }
  executable: Executable
  cwd: Directory
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
  let executable: Executable
  try {
    executable = openExecutable(command.command, cwd.path, surroundings.searchPath, surroundings.childPath)
  } catch (error) {
    closeDirectory(cwd)
    throw error
  }
  try {
    const judged = trustJudge(workspace, surroundings.temporaryDirectories)
    const fact: ProcessFact & { known: true } = {
      known: true,
      command: command.command,
      basename: path.basename(command.command),
      realPath: executable.realPath,
      sha256: executable.sha256,
      passed: judged(executable.passed),
      interpreters: executable.interpreters.map(one => ({ ...one, passed: judged(one.passed) })),
      cwd: shownPath(workspace.root, cwd.path),
      argvFiles: argvFiles(workspace, cwd.path, command.args),
      environment: surroundings.environment,
    }
    return { fact, place: { fact, executable, cwd } }
  } catch (error) {
    closeProcessPlace({ executable, cwd })
    return { fact: unknownOf(error, command.command), place: null }
  }
}

/**
 * Whether what was decided about is still what would run: the program's descriptor still holds the bytes that were hashed,
 * its interpreters are the same files, its working directory stands where it stood. Null where nothing changed.
 */
export function changedSince({ fact, executable, cwd }: ProcessPlace): { code: string; message: string } | null {
  const again = (what: string, code: string) => ({
    code,
    message: `${what} was changed since it was checked; nothing ran, run the task again`,
  })
  if (digestOf(executable.fd) !== fact.sha256) return again(fact.realPath, 'executable_changed')
  const replaced = executable.interpreters.find(({ path: place, sha256: digest }) => digestAt(place) !== digest)
  if (replaced !== undefined) return again(`${replaced.path}, which runs ${fact.realPath},`, 'interpreter_changed')
  return isInPlace(cwd) ? null : again(`the working directory ${fact.cwd}`, 'cwd_changed')
}

function digestAt(place: string): string | null {
  try {
    const fd = openCanonical(place)
    try {
      return digestOf(fd)
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
  if (!statSync(real).isDirectory())
    throw new UnknownFact('not_directory', `${JSON.stringify(cwd)} is not a directory; name the directory to run in`)
  return openDirectory(real)
}
