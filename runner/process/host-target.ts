import type { ExpectedEffect } from '../../policy/approval/record.ts'
import { type ExecutionRequest, ExecutorError } from '../executor.ts'
import { CommandFault } from '../facts/executable.ts'
import { processBinding } from '../facts/process-binding.ts'
import { changedSince, closeProcessPlace, type ProcessPlace, processFact } from '../facts/process-fact.ts'
import type { Host } from '../host.ts'
import type { Variables } from '../secrets/variables.ts'
import { commandOf, limitsOf } from './command.ts'
import { runHostProcess } from './host-process.ts'
import type { ProcessTarget } from './target.ts'

/** The host itself, the program found and hashed; the fact alone where something about it is not known. Throws ExecutorError. */
export function hostTarget(
  host: Host,
  request: ExecutionRequest,
  { facts, values }: Variables,
): ProcessTarget | Pick<ProcessTarget, 'facts'> {
  const command = commandOf(request)
  let found: ReturnType<typeof processFact>
  try {
    found = processFact(host.workspace, command, {
      temporaryDirectories: host.temporaryDirectories,
      searchPath: host.searchPath,
      environment: facts,
      childPath: values['PATH'],
    })
  } catch (error) {
    if (error instanceof CommandFault) throw new ExecutorError(error.code, error.message)
    throw error
  }
  const { fact, place } = found
  if (place === null) return { facts: { kind: 'process', process: fact } }
  return {
    facts: { kind: 'process', process: place.fact },
    binding: processBinding(place.fact),
    expected: expectedOf(request, place),
    changed: () => changedSince(place),
    start: bounds =>
      runHostProcess({
        ...bounds,
        executable: place.executable,
        argv0: command.command,
        cwd: place.cwd,
        effect: request.effectId,
      }),
    close: () => closeProcessPlace(place),
  }
}

function expectedOf(request: ExecutionRequest, { fact }: ProcessPlace): Extract<ExpectedEffect, { kind: 'process' }> {
  const command = commandOf(request)
  return {
    kind: 'process',
    command: command.command,
    realPath: fact.realPath,
    executableSha256: fact.sha256,
    interpreters: fact.interpreters.map(({ path, sha256 }) => ({ path, sha256 })),
    args: command.args,
    cwd: fact.cwd,
    environment: Object.keys(command.env),
    argvFiles: fact.argvFiles,
    limits: limitsOf(request, command),
  }
}
