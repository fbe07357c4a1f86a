import { RequestError } from '@octokit/request-error'
import type { Clock } from '../../policy/ports.ts'
import type { Failure, FailureCode } from './result.ts'

const codes: { [status: number]: FailureCode } = {
  401: 'unauthorised',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  410: 'not_found',
  422: 'invalid',
  429: 'rate_limited',
}

/** What an error thrown by a call means. `what` names the call for people. */
export function failureOf(error: unknown, what: string, clock: Clock): Failure {
  const limit = graphqlLimit(error, clock)
  if (limit !== null) return failure(429, 'rate_limited', `${what}: ${text(error)}`, limit)
  if (!(error instanceof RequestError)) {
    return failure(0, isAbort(error) ? 'unreachable' : 'unexpected', `${what}: ${text(error)}`, null)
  }
  const response = error.response
  // octokit gives status 500 to a request that got no answer at all.
  if (response === undefined) return failure(0, 'unreachable', `${what}: ${error.message}`, null)
  const message = `${what}: ${error.status} ${error.message}`
  const retryAt = retryTime(error.status, response.headers, error.message, clock)
  if (retryAt !== null) return failure(error.status, 'rate_limited', message, retryAt)
  return failure(error.status, codes[error.status] ?? (error.status >= 500 ? 'unavailable' : 'invalid'), message, null)
}

export function failure(status: number, code: FailureCode, message: string, retryAt: string | null): Failure {
  return { ok: false, status, code, message: message.slice(0, 500), retryAt }
}

/** Retry-After, else the reset of an exhausted limit, else a minute where GitHub speaks of a secondary limit. */
function retryTime(
  status: number,
  headers: { [name: string]: string | number | undefined },
  message: string,
  clock: Clock,
): string | null {
  if (status !== 403 && status !== 429 && status !== 503) return null
  const now = clock.now().getTime()
  const after = Number(headers['retry-after'])
  if (headers['retry-after'] !== undefined && Number.isFinite(after)) return iso(now + Math.min(after, 3600) * 1000)
  if (String(headers['x-ratelimit-remaining']) === '0') {
    const reset = Number(headers['x-ratelimit-reset']) * 1000
    return iso(Number.isFinite(reset) ? Math.min(Math.max(reset, now + 1000), now + 3_600_000) : now + 60_000)
  }
  return status === 429 || /secondary rate limit|abuse detection/i.test(message) ? iso(now + 60_000) : null
}

/** When a spent GraphQL limit comes back, which GitHub tells as an error of type RATE_LIMITED with status 200; else null. */
function graphqlLimit(error: unknown, clock: Clock): string | null {
  if (!(error instanceof Error) || error.name !== 'GraphqlResponseError') return null
  const { errors = [], headers = {} } = error as Error & {
    errors?: { type?: string }[]
    headers?: { [name: string]: string | number | undefined }
  }
  const isLimit = errors.some(({ type }) => type === 'RATE_LIMITED') || /secondary rate limit/i.test(error.message)
  return isLimit ? retryTime(429, headers, error.message, clock) : null
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
