/** What kept a GitHub call from its answer. A failure is never an answer: callers deny on it and try again where `retryAt` says so. */
export const failureCodes = [
  'unauthorised',
  'forbidden',
  'not_found',
  'conflict',
  'invalid',
  'rate_limited',
  'unavailable',
  'unreachable',
  'unexpected',
] as const
export type FailureCode = (typeof failureCodes)[number]

export interface Failure {
  ok: false
  /** HTTP status, 0 where no answer came. */
  status: number
  code: FailureCode
  /** GitHub's own words with the call that met them; no token, no body of ours. */
  message: string
  /** ISO time before which the same call is pointless; null where a retry is not promising or not bounded. */
  retryAt: string | null
}

export type Result<Value> = { ok: true; value: Value } | Failure

/** A call that worked. */
export function success<Value>(value: Value): { ok: true; value: Value } {
  return { ok: true, value }
}

/** Failures that pass by themselves: worth another try, unlike a refusal. */
export function isTransient(failure: Failure): boolean {
  return ['rate_limited', 'unavailable', 'unreachable', 'unexpected'].includes(failure.code)
}
