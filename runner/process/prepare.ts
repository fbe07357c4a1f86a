import type { ExpectedEffect, SecretHelperShown } from '../../policy/approval/record.ts'
import type { Facts, VariableFact } from '../../policy/decision/facts.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import { settled } from '../builtin/prepared.ts'
import type { EffectResult, ExecutionRequest, Prepared, Running } from '../executor.ts'
import type { Host } from '../host.ts'
import { findVariables, type Variables } from '../secrets/variables.ts'
import { checkArguments, commandOf } from './command.ts'
import type { HeldProcess } from './enforcement.ts'
import { helpersFirst } from './helpers-first.ts'
import { hostTarget } from './host-target.ts'
import type { ProcessTarget } from './target.ts'

/** A process action of which everything is known and nothing was started. */
export interface ReadyProcess {
  host: Host
  request: ExecutionRequest
  command: PlanCommand
  target: ProcessTarget
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
export async function prepareProcess(host: Host, request: ExecutionRequest, kind: ProcessKind): Promise<Prepared> {
  const command = commandOf(request)
  checkArguments(command)
  const variables = findVariables(host.secrets, command.env)
  try {
    const target = await targetOf(host, request, variables)
    if ('start' in target) {
      const ready = { host, request, command, target, environment: variables.values, held: [] }
      return preparedProcess(ready, kind, variables)
    }
    variables.close()
    return refusedProcess(request, command, target.facts)
  } catch (error) {
    variables.close()
    throw error
  }
}

/** Whether a definite failure of the action may be repeated. */
export function isRetrySafe({ task }: ExecutionRequest): boolean {
  return ['pure', 'idempotent', 'keyed'].includes(task.action.idempotency)
}

/** Containers, and with them the engines' clients, are loaded at the first that is asked for. */
async function targetOf(host: Host, request: ExecutionRequest, variables: Variables) {
  if (request.task.action.isolation === 'process') return hostTarget(host, request, variables)
  const { containerTarget } = await import('../container/target.ts')
  return await containerTarget(host, request, variables)
}

function refusedProcess(request: ExecutionRequest, command: PlanCommand, facts: Facts): Prepared {
  const refusal: EffectResult = {
    kind: 'failed',
    code: 'unknown_process',
    message: 'the process is not known',
    output: null,
    retrySafe: false,
  }
  return {
    facts,
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
  const { request, command, target } = ready
  let open = true
  return {
    facts: target.facts,
    binding: target.binding,
    expected: { ...target.expected, ...kind.shown, ...shownHelpers(command, variables.facts) },
    predictability: 'none',
    unchanged: null,
    start: signal =>
      variables.asked.length === 0
        ? kind.start(ready, signal)
        : helpersFirst(ready, kind, { asked: variables.asked, retrySafe: isRetrySafe(request) }, signal),
    close() {
      if (!open) return
      open = false
      target.close()
      variables.close()
    },
  }
}

/** The helpers as an approval shows them: they are programs too, and run before the process itself. */
function shownHelpers(
  { env }: PlanCommand,
  environment: { [name: string]: VariableFact },
): { secretHelpers?: SecretHelperShown[] } {
  const secretHelpers = Object.entries(environment).flatMap(([variable, fact]) => {
    const reference = env[variable]
    if (!('helper' in fact) || !fact.program.known || reference === undefined || !('process' in reference)) return []
    const { command, args } = reference.process
    const { realPath, sha256: executableSha256 } = fact.program
    return [{ variable, command, args, realPath, executableSha256 }]
  })
  return secretHelpers.length === 0 ? {} : { secretHelpers }
}
