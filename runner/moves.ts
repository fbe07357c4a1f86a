import { badEnd, collectedOutput, membersOf } from '../policy/document/collected.ts'
import { outputFault } from '../policy/document/output-fault.ts'
import type { PlanTask } from '../policy/document/plan.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import type { TaskState } from '../policy/states.ts'
import { type RunContext, report } from './context.ts'
import { memoryDelta, shownMessage } from './drafts.ts'
import { collectFrom } from './expansion/collect.ts'
import type { Draft } from './journal.ts'
import { isOver } from './state.ts'

export interface Move {
  to: TaskState
  /** With succeeded and skipped, and what an aggregate has collected in any end; redacted here. */
  output?: Json
  error?: { code: string; message: string } | null
  condition?: JsonObject | null
  /** For a retry: the attempt that begins. */
  attempt?: number
  /** What held the effect that it comes from; told, not recorded with the task. */
  enforcement?: JsonObject | undefined
}

/**
 * Moves a task in memory and gives the command that records it. The output that later tasks see is the one recorded:
 * redacted, so that a resumed run computes the same inputs, and held to the schemas that were declared for it.
 */
export async function moveTask(context: RunContext, id: string, asked: Move): Promise<Draft> {
  const { state, host, journal } = context
  const status = state.status(id)
  const { kind } = state.task(id).action
  const output = asked.output === undefined ? null : host.secrets.redactor.json(asked.output)
  const move = await heldToSchemas(state.task(id), output, asked)
  const error = move.error ? { code: move.error.code, message: shownMessage(context, move.error.message) } : null
  status.attempt = move.attempt ?? status.attempt
  state.set(id, move.to)
  status.error = error
  if (move.condition) status.condition = move.condition
  const isReadable = move.to === 'succeeded' || move.to === 'skipped'
  if (isReadable) state.outputs[id] = { output }
  const memory = move.to === 'succeeded' ? memoryDelta(kind, output) : null
  if (memory !== null) state.memory = { ...state.memory, ...memory }
  tell(context, id, move.enforcement)
  return {
    type: 'task.move',
    task: id,
    attempt: status.attempt,
    to: move.to,
    output: isReadable || move.output !== undefined ? await journal.payload(output) : null,
    error,
    condition: status.condition,
    memory,
  }
}

/** Cancels what has not ended, in plan order; what collects results ends as they did, with those that there are. */
export async function cancelOpen(context: RunContext, message: string): Promise<Draft[]> {
  const drafts: Draft[] = []
  const cancelled: Move = { to: 'cancelled', error: { code: 'cancelled', message } }
  for (const id of context.state.open)
    drafts.push(await moveTask(context, id, { ...cancelled, ...collectedMove(context, id) }))
  return drafts
}

function collectedMove({ state }: RunContext, id: string): Partial<Move> {
  const { control } = state.task(id)
  const members = membersOf(control)
  if (control === undefined || members.length === 0) return {}
  const items = collectFrom(state, members)
  const output = collectedOutput(control, items)
  return { ...badEnd(items), ...(output !== null && { output }) }
}

/** A task whose output is not what was declared has failed, whatever its effect did. */
async function heldToSchemas(task: PlanTask, output: Json, move: Move): Promise<Move> {
  if (move.to !== 'succeeded') return move
  const fault = await outputFault(task, output)
  return fault === null ? move : { ...move, to: 'failed', error: { code: 'output_schema', message: fault } }
}

function tell(context: RunContext, id: string, enforcement: JsonObject | undefined): void {
  const status = context.state.status(id)
  const { kind } = context.state.task(id).action
  if (status.state === 'running') {
    status.startedAt = performance.now()
    report(context, { type: 'task.started', task: id, kind })
    return
  }
  if (!isOver(status.state)) return
  const { error, startedAt, state } = status
  if (error !== null && state !== 'cancelled')
    context.messages.push(`task ${id} ${state} (${error.code}): ${error.message}`)
  report(context, {
    type: 'task.ended',
    task: id,
    state,
    milliseconds: startedAt === 0 ? 0 : Math.round(performance.now() - startedAt),
    message: error === null ? '' : `${error.code}: ${error.message}`,
    ...(enforcement !== undefined && { enforcement: context.host.secrets.redactor.json(enforcement) as JsonObject }),
  })
}
