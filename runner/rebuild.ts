import type { EffectRecord, RunSnapshot, TaskRecord } from '../ledger/port.ts'
import { countRecorded } from './budgets.ts'
import type { RunContext } from './context.ts'
import { moveTask } from './moves.ts'
import { isOver } from './state.ts'

/** Takes over what the ledger knows: tasks, outputs, effects, memory. */
export function rebuild(context: RunContext, snapshot: RunSnapshot): void {
  const { state } = context
  state.memory = snapshot.memory
  state.former = snapshot.former ?? null
  for (const record of snapshot.tasks) {
    const status = state.tasks.get(record.task)
    if (status === undefined) continue
    state.set(record.task, record.state)
    status.attempt = record.attempt
    status.error = record.error
    status.condition = record.condition
    if (record.state === 'succeeded' || record.state === 'skipped')
      state.outputs[record.task] = { output: record.output }
  }
  for (const effect of snapshot.effects) state.effects.set(effect.effect, effect)
  countRecorded(state, snapshot)
  state.sweep()
}

/** Effects that were started and whose result nobody saw. */
export function inFlight(snapshot: RunSnapshot): EffectRecord[] {
  return snapshot.effects.filter(({ state }) => state === 'started')
}

/** Records that an effect's result is not known, and what follows for its task. */
export async function leaveUncertain(context: RunContext, effects: readonly EffectRecord[]): Promise<void> {
  const message = 'the process that ran it ended before its result was seen; find out what happened, then reconcile it'
  for (const { effect, task } of effects) {
    const error = { code: 'interrupted', message }
    context.carry.push({ type: 'effect.finish', effect, to: 'uncertain', result: null, error, artifacts: [] })
    if (!isOver(context.state.status(task).state))
      context.carry.push(await moveTask(context, task, { to: 'uncertain', error }))
  }
}

/** Completes a batch that was interrupted between its results and its moves, from the results as recorded; with the next commit. */
export async function completeBatch(context: RunContext, snapshot: RunSnapshot): Promise<void> {
  for (const task of snapshot.tasks) {
    if (isOver(task.state)) continue
    const effect = snapshot.effects.find(one => one.task === task.task && one.attempt === task.attempt)
    if (effect === undefined) continue
    await complete(context, task, effect)
  }
}

async function complete(context: RunContext, { task, attempt }: TaskRecord, effect: EffectRecord): Promise<void> {
  const { state } = effect
  if (state === 'succeeded') {
    context.carry.push(await moveTask(context, task, { to: 'succeeded', output: effect.result }))
    return
  }
  if (state === 'failed' && mayRetry(context, effect)) {
    context.carry.push(await moveTask(context, task, { to: 'pending', attempt: attempt + 1, error: effect.error }))
    return
  }
  if (state === 'failed' || state === 'uncertain' || state === 'denied' || state === 'cancelled')
    context.carry.push(await moveTask(context, task, { to: state, error: effect.error ?? refusal(effect) }))
}

function refusal({ state, denial }: EffectRecord): { code: string; message: string } {
  const message = denial === 'expired' ? 'nobody decided in time' : 'a person decided against it, or against the run'
  return { code: denial ?? state, message }
}

function mayRetry({ state }: RunContext, { task, attempt, idempotency }: EffectRecord): boolean {
  const isSafe = idempotency === 'pure' || idempotency === 'idempotent' || idempotency === 'keyed'
  return isSafe && attempt < state.task(task).retry.maxAttempts
}
