import type { JsonObject } from '../../../policy/json.ts'
import { type Failure, isTransient } from '../../github/index.ts'

/** What one try at an outbox row came to. */
export type Outcome =
  | { kind: 'done'; data: JsonObject }
  /** Not yet, and nothing went wrong: again at `until`. */
  | { kind: 'wait'; until: string; data: JsonObject }
  /** Failed: again after a backoff, `limit` times at most. */
  | { kind: 'failed'; error: string; limit: number; notBefore: string | null; data: JsonObject }

/** Refusals rarely change by themselves; an outage of GitHub can last for hours. */
const refusedTries = 3
const outageTries = 24

export const done = (data: JsonObject = {}): Outcome => ({ kind: 'done', data })
export const wait = (until: string, data: JsonObject = {}): Outcome => ({ kind: 'wait', until, data })
export const failed = (error: string, data: JsonObject = {}, limit = refusedTries): Outcome => ({
  kind: 'failed',
  error,
  limit,
  notBefore: null,
  data,
})

/** A GitHub call did not work. Being asked to slow down is no failure. */
export function failedCall(failure: Failure): Outcome {
  if (failure.code === 'rate_limited' && failure.retryAt !== null) return wait(failure.retryAt)
  return {
    kind: 'failed',
    error: failure.message,
    limit: isTransient(failure) ? outageTries : refusedTries,
    notBefore: failure.retryAt,
    data: {},
  }
}
