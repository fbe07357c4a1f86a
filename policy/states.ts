/**
 * The states of a run, a task and an effect, and the moves between them (01, States).
 * Terminal states change only by reconciliation or, for a paused run, by resolution.
 */
export const runStates = ['running', 'paused', 'succeeded', 'failed', 'denied', 'uncertain', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

export const taskStates = [
  'pending',
  'waiting',
  'running',
  'succeeded',
  'failed',
  'denied',
  'skipped',
  'uncertain',
  'cancelled',
] as const
export type TaskState = (typeof taskStates)[number]

export const effectStates = [
  'requested',
  'waiting_for_approval',
  'started',
  'succeeded',
  'failed',
  'denied',
  'cancelled',
  'uncertain',
] as const
export type EffectState = (typeof effectStates)[number]

/** Why an effect was denied: by policy, by a person, or because nobody answered in time. */
export const denialCauses = ['policy', 'rejected', 'expired'] as const
export type DenialCause = (typeof denialCauses)[number]

/** A run ends as the first of these that applies to any of its tasks, else `succeeded`. */
export const endPrecedence = ['uncertain', 'failed', 'denied', 'cancelled'] as const

/** Process exit code of each end of a run; `paused` exits as a denial does: the job did not do its work. */
export const exitCodes = {
  succeeded: 0,
  paused: 3,
  denied: 3,
  failed: 4,
  uncertain: 4,
  cancelled: 130,
  running: 5,
} as const satisfies Record<RunState, number>
