import type { z } from 'zod'
import type { Clock } from '../policy/ports.ts'
import { LedgerError, type LedgerErrorCode, ledgerErrorCodes } from './port.ts'
import { problemSchema } from './wire.ts'

/** What a caller of the control plane brings: its own fetch, the clock, and how long it may go on trying. */
export interface CallContext {
  fetch: typeof fetch
  clock: Clock
  /** Whole milliseconds for one call with all its repetitions. Default 60,000. */
  budgetMs?: number
  /** First pause between two tries, doubled each time up to 8 s, jittered. Default 250. */
  backoffMs?: number
  /** Ends the waiting; the call then fails as `unreachable`. */
  signal?: AbortSignal
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT'
  url: string
  /** Read anew for each try, so that a repeated call carries the current token. */
  authorization: () => string | Promise<string>
  body?: { type: string; bytes: Uint8Array<ArrayBuffer> }
  /** What is being done, for messages: `applying a batch`. */
  doing: string
  /** What to do about a refusal, where the ledger's own advice does not fit. */
  remedies?: Remedies
}
export type Remedies = { readonly [Code in LedgerErrorCode]?: string }

const slowestPauseMs = 8_000

/**
 * One call, repeated while the fault may pass (connection, 5xx, 429 with its Retry-After) and the budget lasts. Answers
 * any 2xx, and 404 where the caller asks for it; everything else is a LedgerError. Safe only for calls whose repetition
 * does nothing twice.
 */
export async function call(context: CallContext, call: Call, accept: readonly number[] = []): Promise<Response> {
  const { budgetMs = 60_000, backoffMs = 250, signal } = context
  const deadline = performance.now() + budgetMs
  for (let tries = 1; ; tries++) {
    const tried = await tryOnce(context, call, deadline)
    if ('response' in tried && (tried.response.ok || accept.includes(tried.response.status))) return tried.response
    const fault = 'response' in tried ? await refusal(context.clock, call, tried.response) : tried.fault
    if (!fault.passing) throw fault.error
    const pause = Math.max(fault.retryAfterMs, Math.min(slowestPauseMs, backoffMs * 2 ** (tries - 1)) * jitter())
    if (signal?.aborted || performance.now() + pause > deadline) throw exhausted(tries, fault.error)
    await rest(pause, signal)
  }
}

/** The JSON of an answer, checked; a body that is not what was agreed is `invalid`. */
export async function json<Value>(response: Response, schema: z.ZodType<Value>, doing: string): Promise<Value> {
  const parsed = schema.safeParse(await response.json().catch(() => undefined))
  if (parsed.success) return parsed.data
  const first = parsed.error.issues[0]
  const where = first === undefined || first.path.length === 0 ? 'body' : first.path.join('.')
  throw new LedgerError(
    'invalid',
    `${doing}: the control plane's answer is not of the agreed form (${where}: ${first?.message ?? 'unreadable'}); update agentctl and the control plane to versions that match`,
  )
}

interface Fault {
  error: LedgerError
  passing: boolean
  retryAfterMs: number
}

async function tryOnce(
  { fetch, signal }: CallContext,
  call: Call,
  deadline: number,
): Promise<{ response: Response } | { fault: Fault }> {
  const left = AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())))
  try {
    const authorization = await call.authorization()
    const headers = {
      authorization,
      accept: 'application/json',
      ...(call.body && { 'content-type': call.body.type }),
    }
    const response = await fetch(call.url, {
      method: call.method,
      headers,
      body: call.body?.bytes ?? null,
      signal: signal === undefined ? left : AbortSignal.any([left, signal]),
    })
    return { response }
  } catch (error) {
    if (error instanceof LedgerError) throw error
    const message = error instanceof Error ? error.message : String(error)
    // A fetch of ours says by `retryable` what no repetition heals: a redirect, a certificate, a foreign origin.
    const passing = !(error instanceof Error && 'retryable' in error && error.retryable === false)
    const remedy = passing ? '' : '; correct control-plane-url or the runner, nothing was repeated'
    return {
      fault: {
        error: new LedgerError('unreachable', `${call.doing}: ${message}${remedy}`, { cause: error }),
        passing,
        retryAfterMs: 0,
      },
    }
  }
}

const remedies: Remedies = {
  stale_epoch: 'a later attempt has taken this run over; nothing more may be written here',
  lease_held: 'wait until the holder ends, or cancel it',
  not_found: 'check control-plane-url and that the repository is the one that the run began in',
  unauthorised: 'the lease token is refused or has run out; re-run the job',
  unreachable: 'nothing acknowledged is lost; re-run the job when the control plane is up',
}

/** An answer that is no success, as a LedgerError with the server's own words and what to do. */
async function refusal(clock: Clock, call: Call, response: Response): Promise<Fault> {
  const problem = problemSchema.safeParse(await response.json().catch(() => undefined))
  const stated = ledgerErrorCodes.find(code => problem.success && code === problem.data.code)
  const code = stated ?? codeOf(response.status)
  const said = problem.success ? (problem.data.detail ?? problem.data.title) : `status ${response.status}`
  const passing = response.status === 429 || (response.status >= 500 && !isLasting(stated))
  const remedy = call.remedies?.[code] ?? remedies[code]
  return {
    error: new LedgerError(code, `${call.doing}: ${said}${remedy === undefined ? '' : `; ${remedy}`}`),
    passing,
    retryAfterMs: passing ? retryAfter(response.headers.get('retry-after'), clock.now()) : 0,
  }
}

/** Faults of the ledger's storage that stay until somebody repairs it. */
function isLasting(code: LedgerErrorCode | undefined): boolean {
  return code !== undefined && ['read_only', 'full', 'corrupt', 'newer'].includes(code)
}

function codeOf(status: number): LedgerErrorCode {
  if (status === 401 || status === 403) return 'unauthorised'
  if (status === 404) return 'not_found'
  if (status === 409) return 'conflict'
  if (status === 507) return 'full'
  if (status === 429 || status >= 500) return 'unreachable'
  return 'invalid'
}

/** Milliseconds that a Retry-After asks for: seconds or an HTTP date; 0 where absent or unreadable. */
export function retryAfter(header: string | null, now: Date): number {
  if (header === null) return 0
  if (/^\d+$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime())
}

function exhausted(tries: number, last: LedgerError): LedgerError {
  const code = last.code === 'locked' ? 'locked' : 'unreachable'
  const remedy = last.message.includes(remedies.unreachable ?? '') ? '' : `; ${remedies.unreachable}`
  return new LedgerError(code, `${last.message} (${tries} ${tries === 1 ? 'try' : 'tries'})${remedy}`, {
    cause: last,
  })
}

/** Between a half and the whole: callers that failed together do not come back together. */
function jitter(): number {
  return 0.5 + Math.random() / 2
}

async function rest(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  const stop = () => resolve()
  signal?.addEventListener('abort', stop, { once: true })
  await promise
  clearTimeout(timer)
  signal?.removeEventListener('abort', stop)
}
