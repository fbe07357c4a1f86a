import type { RunContext } from './context.ts'
import type { EffectResult } from './executor.ts'

/** `setTimeout` takes no more, some 24 days; what is allowed longer than that is stopped between its effects. */
const longestTimer = 2_147_483_647

/** Milliseconds that jobs have worked on the run, this one included; not what people took to decide. */
export function workedMilliseconds({ state, beganAt }: Pick<RunContext, 'state' | 'beganAt'>): number {
  return state.earlierMilliseconds + performance.now() - beganAt
}

/** Whether nothing of the run may begin any more: its budget `maxWallTimeSeconds` is used up. */
export function isOutOfTime(context: Pick<RunContext, 'plan' | 'state' | 'beganAt' | 'timeUp'>): boolean {
  const { maxWallTimeSeconds } = context.plan.budgets
  if (maxWallTimeSeconds === undefined) return false
  return context.timeUp.signal.aborted || workedMilliseconds(context) > maxWallTimeSeconds * 1_000
}

/** Aborts `context.timeUp` once the budget `maxWallTimeSeconds` is used up; the answer stops the clock. */
export function startWallTime(context: RunContext): () => void {
  const { maxWallTimeSeconds } = context.plan.budgets
  if (maxWallTimeSeconds === undefined) return () => {}
  const left = maxWallTimeSeconds * 1_000 - workedMilliseconds(context)
  if (left > longestTimer) return () => {}
  const reason = new Error(budgetMessage('maxWallTimeSeconds', maxWallTimeSeconds))
  const timer = setTimeout(() => context.timeUp.abort(reason), Math.max(0, left))
  timer.unref()
  return () => clearTimeout(timer)
}

/** Why a run that has used up one of its budgets goes no further. */
export function budgetMessage(name: string, limit: number): string {
  return `the run's budget ${name} (${limit}) is used up; raise spec.runtime.budgets.${name}`
}

/**
 * A result as it counts where the budget's end stopped the effect: what had begun stays uncertain under the budget's
 * name, what had not begun has failed, since nobody cancelled the run.
 */
export function underWallTime({ plan, stop, timeUp }: RunContext, result: EffectResult): EffectResult {
  const { maxWallTimeSeconds } = plan.budgets
  if (maxWallTimeSeconds === undefined || !timeUp.signal.aborted || stop.aborted) return result
  const { enforcement } = result
  const held = enforcement === undefined ? {} : { enforcement }
  if (result.kind === 'uncertain' && result.code === 'cancelled') return { ...result, code: 'budget_exceeded' }
  if (result.kind !== 'cancelled') return result
  const message = budgetMessage('maxWallTimeSeconds', maxWallTimeSeconds)
  return { kind: 'failed', code: 'budget_exceeded', message, output: null, retrySafe: false, ...held }
}
