import type { ExpectedEffect } from '../../policy/approval/record.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import { settled } from '../builtin/prepared.ts'
import { type EffectResult, type ExecutionRequest, ExecutorError, type Prepared, type Running } from '../executor.ts'
import { CommandFault } from '../facts/executable.ts'
import { processBinding } from '../facts/process-binding.ts'
import { closeProcessPlace, type ProcessPlace, processFact } from '../facts/process-fact.ts'
import type { Host } from '../host.ts'
import { findVariables, type Variables } from '../secrets/variables.ts'
import { checkArguments, commandOf, limitsOf } from './command.ts'
import type { HeldProcess } from './enforcement.ts'
import { helpersFirst } from './helpers-first.ts'

/** A process action of which everything is known and nothing was started. */
export interface ReadyProcess {
  host: Host
  request: ExecutionRequest
  command: PlanCommand
  place: ProcessPlace
  /** The whole environment of its processes. */
  environment: { [name: string]: string }
  /** Processes of the effect that are over: its secret helpers. */
  held: readonly HeldProcess[]
}

/** How a kind of process action is shown and run. */
export interface ProcessKind {
  /** What an approval shows beside the process itself. */
  shown?: Pick<Extract<ExpectedEffect, { kind: 'process' }>, 'extension'>
  start(ready: ReadyProcess, signal: AbortSignal): Running
}

/** Facts, binding and bounds of a process action, the same for each kind. Throws ExecutorError. */
export function prepareProcess(host: Host, request: ExecutionRequest, kind: ProcessKind): Prepared {
  const command = commandOf(request)
  checkArguments(command)
  const variables = findVariables(host.secrets, command.env)
  try {
    const { fact, place } = findProcess(host, command, variables)
    if (place !== null) {
      const ready = { host, request, command, place, environment: variables.values, held: [] }
      return preparedProcess(ready, kind, variables)
    }
    variables.close()
    return refusedProcess(request, command, fact)
  } catch (error) {
    variables.close()
    throw error
  }
}

/** Whether a definite failure of the action may be repeated. */
export function isRetrySafe({ task }: ExecutionRequest): boolean {
  return ['pure', 'idempotent', 'keyed'].includes(task.action.idempotency)
}

function findProcess(host: Host, command: PlanCommand, { facts, values }: Variables) {
  try {
    return processFact(host.workspace, command, {
      temporaryDirectories: host.temporaryDirectories,
      searchPath: host.searchPath,
      environment: facts,
      childPath: values['PATH'],
    })
  } catch (error) {
    if (error instanceof CommandFault) throw new ExecutorError(error.code, error.message)
    throw error
  }
}

function refusedProcess(
  request: ExecutionRequest,
  command: PlanCommand,
  fact: ReturnType<typeof processFact>['fact'],
): Prepared {
  const refusal: EffectResult = {
    kind: 'failed',
    code: 'unknown_process',
    message: 'the process is not known',
    output: null,
    retrySafe: false,
  }
  return {
    facts: { kind: 'process', process: fact },
    binding: {},
    expected: {
      kind: 'other',
      summary: `runs ${command.command}`,
      detail: { args: command.args, task: request.task.id },
    },
    predictability: 'none',
    unchanged: null,
    start: () => settled(refusal),
    close() {},
  }
}

function preparedProcess(ready: ReadyProcess, kind: ProcessKind, variables: Variables): Prepared {
  const { request, command, place } = ready
  const { fact } = place
  let open = true
  return {
    facts: { kind: 'process', process: fact },
    binding: processBinding(fact),
    expected: {
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
      ...kind.shown,
      ...shownHelpers(command, fact),
    },
    predictability: 'none',
    unchanged: null,
    start: signal =>
      variables.asked.length === 0
        ? kind.start(ready, signal)
        : helpersFirst(ready, kind, { asked: variables.asked, retrySafe: isRetrySafe(request) }, signal),
    close() {
      if (!open) return
      open = false
      closeProcessPlace(place)
      variables.close()
    },
  }
}

/** The helpers as an approval shows them: they are programs too, and run before the process itself. */
function shownHelpers(
  { env }: PlanCommand,
  { environment }: ProcessPlace['fact'],
): Pick<Extract<ExpectedEffect, { kind: 'process' }>, 'secretHelpers'> {
  const secretHelpers = Object.entries(environment).flatMap(([variable, fact]) => {
    const reference = env[variable]
    if (!('helper' in fact) || !fact.program.known || reference === undefined || !('process' in reference)) return []
    const { command, args } = reference.process
    const { realPath, sha256: executableSha256 } = fact.program
    return [{ variable, command, args, realPath, executableSha256 }]
  })
  return secretHelpers.length === 0 ? {} : { secretHelpers }
}
