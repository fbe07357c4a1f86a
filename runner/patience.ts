import { setTimeout as sleep } from 'node:timers/promises'
import { LedgerError } from '../ledger/port.ts'
import type { Timings } from './run.ts'

/** Failures that may pass by themselves; everything else is final at once. */
const passing: ReadonlySet<string> = new Set(['unreachable', 'locked'])
const firstPause = 250
const longestPause = 15_000

/**
 * Repeats a ledger call while the ledger cannot be reached, with growing pauses, for `deliverFor`; once the run was told to
 * stop for `deliverForCancelled`, so that a job's end is not held up. Throws the last LedgerError.
 */
export async function patiently<T>(timings: Timings, stop: AbortSignal, call: () => Promise<T>): Promise<T> {
  const began = performance.now()
  let stoppedAt: number | null = stop.aborted ? began : null
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof LedgerError) || !passing.has(error.code)) throw error
      if (stop.aborted) stoppedAt ??= performance.now()
      const deadline = Math.min(
        began + timings.deliverFor,
        stoppedAt === null ? Number.POSITIVE_INFINITY : stoppedAt + timings.deliverForCancelled,
      )
      const left = deadline - performance.now()
      if (left <= 0) throw error
      await waitOrStop(Math.min(pause, left), stop)
    }
  }
}

/** Waits, woken early once by a stop; a stop that was there before does not cut it short. */
async function waitOrStop(milliseconds: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return sleep(milliseconds)
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => {})
}
