import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Problem } from '../ledger/wire.ts'

/** A refusal as plain data, so that it crosses from a Durable Object to the app unchanged. */
export interface Refusal {
  status: number
  /** A LedgerErrorCode or a route's own word. */
  code: string
  /** Names the rule, the subject and the remedy; never a secret, never the existence of what the caller may not see. */
  message: string
  /** Whole seconds after which it is worth asking again, null where asking again changes nothing. */
  retryAfter: number | null
}

/** What a repository answers: a value, or why not. Structured-cloneable where the value is. */
export type Answer<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

export const answered = <T>(value: T): Answer<T> => ({ ok: true, value })

export const refused = (status: number, code: string, message: string, retryAfter: number | null = null) =>
  ({ ok: false, refusal: { status, code, message, retryAfter } }) as const

/** Thrown inside routes, turned into problem+json by the app's one `onError`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/** A ProblemError from its parts. */
export function problem(status: number, code: string, message: string, retryAfter: number | null = null): ProblemError {
  return new ProblemError({ status, code, message, retryAfter })
}

/** The value of an answer; a refusal is thrown as the problem that it is. */
export function unwrap<T>(answer: Answer<T>): T {
  if (answer.ok) return answer.value
  throw new ProblemError(answer.refusal)
}

const titles: { [status: number]: string } = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Refused',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length required',
  413: 'Too large',
  415: 'Unsupported media type',
  422: 'Not valid',
  429: 'Too many requests',
  500: 'Internal error',
  502: 'GitHub failed',
  503: 'Unavailable',
}

/** RFC 9457 answer of a refusal. */
export function problemResponse(refusal: Refusal): Response {
  const body: Problem = {
    type: `urn:agentctl:problem:${refusal.code}`,
    title: titles[refusal.status] ?? 'Refused',
    status: refusal.status,
    detail: refusal.message,
    code: refusal.code,
  }
  const headers = new Headers({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
  if (refusal.retryAfter !== null) headers.set('retry-after', String(refusal.retryAfter))
  if (refusal.status === 401) headers.set('www-authenticate', 'Bearer realm="agentctl"')
  return new Response(JSON.stringify(body), { status: refusal.status as ContentfulStatusCode, headers })
}
