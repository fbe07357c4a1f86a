import { statSync } from 'node:fs'
import path from 'node:path'
import type { Digest } from '../../policy/canonical.ts'
import type { ContainerFact, VariableFact } from '../../policy/decision/facts.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import { argvFiles } from '../facts/argv-files.ts'
import { shownPath } from '../facts/canonical-path.ts'
import { closeDirectory, type Directory, isInPlace, openDirectory } from '../facts/directory.ts'
import { canonicalInWorkspace } from '../facts/read-fact.ts'
import { UnknownFact, unknownOf } from '../facts/unknown.ts'
import type { Workspace } from '../facts/workspace.ts'
import type { CheckedImage, Engine } from './engine.ts'
import { workspace as mountPoint } from './fixed.ts'

/** What a container is about to see of the workspace, its working directory held open. The caller closes it. */
export interface ContainerPlace {
  cwd: Directory
  /** Digests of the files that command and arguments name as they are now. Throws UnknownFact. */
  argvFiles: () => { [path: string]: Digest }
}

/** Opens the working directory; why it cannot be had otherwise. */
export function containerPlace(
  workspace: Workspace,
  { command, args, cwd: requested }: Pick<PlanCommand, 'command' | 'args' | 'cwd'>,
): ContainerPlace | Extract<ContainerFact, { known: false }> {
  try {
    const real = canonicalInWorkspace(workspace, requested === '' ? '.' : requested)
    if (!statSync(real).isDirectory())
      throw new UnknownFact('not_directory', `${JSON.stringify(requested)} is not a directory`)
    const cwd = openDirectory(real)
    const words = [...(command.includes('/') ? [command] : []), ...args].flatMap(insideNames)
    return { cwd, argvFiles: () => argvFiles(workspace, cwd.path, words) }
  } catch (error) {
    const fact = unknownOf(error, requested)
    return { ...fact, detail: `cwd: ${fact.detail}` }
  }
}

/** The fact itself, once engine and image are known. */
export function containerFact(
  workspace: Workspace,
  { command }: Pick<PlanCommand, 'command'>,
  { cwd, argvFiles: named }: ContainerPlace,
  { engine, image }: { engine: Engine; image: CheckedImage },
  environment: { [name: string]: VariableFact },
): ContainerFact {
  let files: { [path: string]: Digest }
  try {
    files = named()
  } catch (error) {
    return unknownOf(error, command)
  }
  return {
    known: true,
    command,
    basename: path.posix.basename(command),
    engine: { kind: engine.kind, version: engine.version },
    image: { reference: image.reference, id: image.id },
    cwd: shownPath(workspace.root, cwd.path),
    argvFiles: files,
    environment,
  }
}

/** What was changed since it was checked, null where nothing was. */
export function changedPlace(
  fact: ContainerFact & { known: true },
  place: ContainerPlace,
): { code: string; message: string } | null {
  const again = (what: string, code: string) => ({
    code,
    message: `${what} was changed since it was checked; nothing ran, run the task again`,
  })
  if (!isInPlace(place.cwd)) return again(`the working directory ${fact.cwd}`, 'cwd_changed')
  const before = new Map(Object.entries(fact.argvFiles))
  let now: Map<string, Digest>
  try {
    now = new Map(Object.entries(place.argvFiles()))
  } catch (error) {
    if (error instanceof UnknownFact) return again('a file that args name', 'argv_files_changed')
    throw error
  }
  const file = [...before.keys(), ...now.keys()].find(one => before.get(one) !== now.get(one))
  return file === undefined ? null : again(`${JSON.stringify(file)}, which args name,`, 'argv_files_changed')
}

export function closePlace({ cwd }: ContainerPlace): void {
  closeDirectory(cwd)
}

/** In the container the working directory is /workspace: a word that names a file by that place names it here too. */
function insideNames(word: string): string[] {
  const relative = word.replaceAll(`${mountPoint}/`, './')
  return relative === word ? [word] : [word, relative]
}
