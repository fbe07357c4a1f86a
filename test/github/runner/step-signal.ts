import { holds } from './expressions.ts'
import { contextsOf, type StepScope } from './scope.ts'
import { timing } from './timing.ts'
import type { Step } from './workflow.ts'

/** What ends a step before its time. */
export interface StepSignal {
  signal: AbortSignal
  /** Whether it was `timeout-minutes` rather than a cancel. */
  timedOut(): boolean
  /** Fires at the step's own `timeout-minutes` or that of a step around it. */
  timeout: AbortSignal
  close(): void
}

/**
 * As actions/runner src/Runner.Worker/StepsRunner.cs: when the job is cancelled while the step runs, its condition is asked
 * again, and `always()` or `cancelled()` let it go on; one that starts after the cancel is not asked again.
 */
export function stepSignal(where: StepScope, step: Pick<Step, 'if' | 'timeout-minutes'>): StepSignal {
  const { cancelled, forced } = where.job.ports.stop
  const ends = new AbortController()
  const timeout = new AbortController()
  const cancel = () => {
    const goesOn = holds(step.if, contextsOf(where), { success: false, failure: false, cancelled: true })
    if (!goesOn) ends.abort()
  }
  const force = () => ends.abort()
  const expire = () => {
    timeout.abort()
    ends.abort()
  }
  if (!cancelled.aborted) cancelled.addEventListener('abort', cancel, { once: true })
  if (forced.aborted) force()
  else forced.addEventListener('abort', force, { once: true })
  where.timeout?.addEventListener('abort', expire, { once: true })
  const minutes = step['timeout-minutes']
  const forget = minutes === undefined ? null : timing.after(minutes * timing.minute, expire)
  return {
    signal: ends.signal,
    timeout: timeout.signal,
    timedOut: () => timeout.signal.aborted && !cancelled.aborted,
    close: () => {
      forget?.()
      cancelled.removeEventListener('abort', cancel)
      forced.removeEventListener('abort', force)
      where.timeout?.removeEventListener('abort', expire)
    },
  }
}
