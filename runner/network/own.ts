import { type Environment, ownDispatcher } from './own-dispatcher.ts'
import { connectionFault, OwnCallError } from './own-error.ts'
import { ownUrl, parseOrigins } from './own-origins.ts'

export { OwnCallError, type OwnCallErrorCode } from './own-error.ts'

export interface OwnFetchOptions {
  /** URLs of the servers that may be called; only their origins count. */
  origins: readonly string[]
  /** Where the runner's proxy variables are read from. */
  environment: Environment
  /** Bound of one call, its body included. Default 30,000. */
  timeoutMs?: number
  /** Most bytes of a body, counted after decompression. Default 16 MiB. */
  maxResponseBytes?: number
}

/**
 * `fetch` for agentctl's own calls (GitHub's API, the OIDC token URL, the control plane). They are not effects, and no
 * document widens or narrows them: exactly the given origins, no redirect followed, size and time bounded. The answer's
 * body is complete when the call returns. Every failure is an OwnCallError.
 */
export function ownFetch(options: OwnFetchOptions): typeof fetch {
  const { environment, timeoutMs = 30_000, maxResponseBytes = 16_777_216 } = options
  const origins = parseOrigins(options.origins)
  const dispatchers = new Map<string, ReturnType<typeof ownDispatcher>>()

  function dispatcherFor(url: URL) {
    const dispatcher = dispatchers.get(url.origin) ?? ownDispatcher(url, environment)
    dispatchers.set(url.origin, dispatcher)
    return dispatcher
  }

  return async function own(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
    if (input instanceof Request) throw new OwnCallError('not_own', 'an own call takes a URL, not a Request')
    const url = ownUrl(String(input), origins)
    const call = `${init.method ?? 'GET'} ${url.origin}`
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = init.signal ? AbortSignal.any([deadline, init.signal]) : deadline
    try {
      const dispatcher = await dispatcherFor(url)
      const undici = await import('./undici.ts')
      const headers = new Headers(init.headers)
      if (!headers.has('user-agent')) headers.set('user-agent', 'agentctl')
      const sent = { ...init, headers: [...headers], redirect: 'manual', signal, dispatcher }
      const answer = (await undici.fetch(url, sent as Parameters<typeof undici.fetch>[1])) as unknown as Response
      refuseRedirect(call, answer)
      return await complete(call, answer, url, maxResponseBytes)
    } catch (error) {
      if (error instanceof OwnCallError) throw error
      if (init.signal?.aborted) throw new OwnCallError('aborted', `${call}: stopped by the caller`)
      if (deadline.aborted)
        throw new OwnCallError('timeout', `${call}: no complete answer within ${timeoutMs / 1000} s; try again later`)
      throw connectionFault(call, error)
    }
  }
}

function refuseRedirect(call: string, answer: Response): void {
  if (![301, 302, 303, 307, 308].includes(answer.status)) return
  const target = URL.parse(answer.headers.get('location') ?? '', answer.url || undefined)
  throw new OwnCallError(
    'redirect',
    `${call}: redirects are not followed (${answer.status} to ${target?.origin ?? 'an unreadable address'}); configure the final address`,
  )
}

/** Reads the whole body within the bound: what a caller holds can neither stall nor grow any more. */
async function complete(call: string, answer: Response, url: URL, maxBytes: number): Promise<Response> {
  const declared = Number(answer.headers.get('content-length') ?? 0)
  if (declared > maxBytes) {
    await answer.body?.cancel()
    throw tooLarge(call, maxBytes)
  }
  const parts: Uint8Array<ArrayBuffer>[] = []
  let total = 0
  // A break out of the loop cancels the stream, and with it the connection.
  for await (const part of answer.body ?? []) {
    total += part.byteLength
    if (total > maxBytes) throw tooLarge(call, maxBytes)
    parts.push(part as Uint8Array<ArrayBuffer>)
  }
  const headers = new Headers([...answer.headers])
  const response = new Response(answer.body === null ? null : new Blob(parts), {
    status: answer.status,
    statusText: answer.statusText,
    headers,
  })
  return Object.defineProperty(response, 'url', { value: url.href })
}

function tooLarge(call: string, maxBytes: number): OwnCallError {
  return new OwnCallError('too_large', `${call}: the answer is larger than ${maxBytes} bytes and was dropped`)
}
