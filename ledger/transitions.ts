import {
  type EffectState,
  effectStates,
  endPrecedence,
  type RunState,
  runStates,
  type TaskState,
  taskStates,
} from '../policy/states.ts'

/** From each state the states that may follow. Whatever is not here does not happen. */
type Moves<State extends string> = { readonly [From in State]: readonly State[] }

export const runMoves: Moves<RunState> = {
  running: ['paused', 'succeeded', 'failed', 'denied', 'uncertain', 'cancelled'],
  // Goes on once every item is resolved, or ends by the resolution itself.
  paused: ['running', 'denied', 'cancelled', 'failed'],
  // Resumable once every uncertain effect is reconciled.
  uncertain: ['paused'],
  succeeded: [],
  failed: [],
  denied: [],
  cancelled: [],
}

export const taskMoves: Moves<TaskState> = {
  pending: ['waiting', 'running', 'succeeded', 'failed', 'denied', 'skipped', 'uncertain', 'cancelled'],
  waiting: ['pending', 'running', 'succeeded', 'failed', 'denied', 'skipped', 'uncertain', 'cancelled'],
  // Back to pending or waiting: a retry, or a person must decide on a further effect.
  running: ['pending', 'waiting', 'succeeded', 'failed', 'denied', 'skipped', 'uncertain', 'cancelled'],
  uncertain: [],
  succeeded: [],
  failed: [],
  denied: [],
  skipped: [],
  cancelled: [],
}

export const effectMoves: Moves<EffectState> = {
  requested: ['waiting_for_approval', 'started', 'failed', 'denied', 'cancelled'],
  waiting_for_approval: ['requested', 'denied', 'cancelled'],
  started: ['succeeded', 'failed', 'cancelled', 'uncertain'],
  uncertain: [],
  succeeded: [],
  failed: [],
  denied: [],
  cancelled: [],
}

/** What reconciliation moves beyond that: applied; not applied or compensated; applied first and compensated later. */
export const reconciledEffectMoves: Partial<Moves<EffectState>> = {
  uncertain: ['succeeded', 'failed'],
  succeeded: ['failed'],
}

/** The task follows its effect: it is done, or it runs again as the next attempt. */
export const reconciledTaskMoves: Partial<Moves<TaskState>> = {
  uncertain: ['succeeded', 'pending'],
  succeeded: ['pending'],
}

/** Ends from which a run opens once more, for its compensations alone; it ends as gravely again. */
const reopened: ReadonlySet<RunState> = new Set(['failed', 'denied', 'cancelled'])

export function mayReopenRun(from: RunState): boolean {
  return reopened.has(from)
}

export function mayMoveRun(from: RunState, to: RunState): boolean {
  return runMoves[from].includes(to)
}

export function mayMoveTask(from: TaskState, to: TaskState): boolean {
  return taskMoves[from].includes(to)
}

export function mayMoveEffect(from: EffectState, to: EffectState): boolean {
  return effectMoves[from].includes(to)
}

export function mayReconcileEffect(from: EffectState, to: EffectState): boolean {
  return reconciledEffectMoves[from]?.includes(to) ?? false
}

export function mayReconcileTask(from: TaskState, to: TaskState): boolean {
  return reconciledTaskMoves[from]?.includes(to) ?? false
}

export function isTerminalTask(state: TaskState): boolean {
  return state !== 'pending' && state !== 'waiting' && state !== 'running'
}

export function isEnded(state: RunState): boolean {
  return state !== 'running' && state !== 'paused'
}

/** How a run ends whose tasks stand like this: the first of uncertain, failed, denied, cancelled, else succeeded. */
export function endOf(tasks: Iterable<TaskState>): Exclude<RunState, 'running' | 'paused'> {
  const present = new Set(tasks)
  return endPrecedence.find(state => present.has(state)) ?? 'succeeded'
}

/**
 * How a run ends, and stays: what undoes a task counts only where nobody knows what became of it. `former` is the end of a
 * run that was opened again for its compensations, null where it was not.
 */
export function endOfRun(
  tasks: readonly { state: TaskState; isCompensation: boolean }[],
  former: Exclude<RunState, 'running' | 'paused'> | null,
): Exclude<RunState, 'running' | 'paused'> {
  if (tasks.some(({ state }) => state === 'uncertain')) return 'uncertain'
  if (former !== null) return former
  const end = endOf(tasks.flatMap(({ state, isCompensation }) => (isCompensation ? [] : [state])))
  // What was undone has not succeeded, whatever else is not known of it.
  return end === 'succeeded' && tasks.some(({ isCompensation }) => isCompensation) ? 'failed' : end
}

/** Whether `end` is at least as grave as `least`: a run may end worse than its tasks (its outputs failed), never better. */
export function isAtLeast(end: RunState, least: RunState): boolean {
  const grave = (state: RunState) => {
    const place = (endPrecedence as readonly RunState[]).indexOf(state)
    return place === -1 ? endPrecedence.length : place
  }
  return grave(end) <= grave(least)
}

export { effectStates, runStates, taskStates }
