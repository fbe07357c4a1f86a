import { Readable } from 'node:stream'
import { decodedBody, tooLarge } from './body.ts'
import { exchangeFault, GuardedError, networkFault } from './network-fault.ts'
import type { Dispatcher } from './undici.ts'

/** One request as it is sent: its origin and everything else checked. */
export interface SentRequest {
  origin: string
  path: string
  method: string
  headers: { [name: string]: string }
  body: string | Uint8Array | null
}

/** A response whose body still arrives. */
export interface ArrivingResponse {
  status: number
  headers: Headers
  /** Yields the decoded body; throws a GuardedError. */
  body: Readable
}

export interface ExchangeBounds {
  maxResponseBytes: number
  /** Ends the exchange at any time; its reason is a GuardedError. */
  signal: AbortSignal
  /** Called once, when nothing of the exchange is left: answered in full, failed, or dropped by its reader. */
  over: () => void
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Sends one request over a dispatcher and gives its response as soon as the headers are there. Rejects with a GuardedError. */
export function exchange(
  dispatcher: Dispatcher,
  request: SentRequest,
  bounds: ExchangeBounds,
): Promise<ArrivingResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ArrivingResponse>()
  const { origin, method } = request
  const { maxResponseBytes, signal } = bounds
  let controller: Dispatcher.DispatchController | null = null
  let raw: Readable | null = null
  let bytes = 0
  let isOver = false

  function finish(): void {
    if (isOver) return
    isOver = true
    signal.removeEventListener('abort', stop)
    bounds.over()
  }

  function fail(thrown: unknown): void {
    const error = new GuardedError(exchangeFault(origin, thrown, controller !== null))
    finish()
    reject(error)
    raw?.destroy(error)
    controller?.abort(error)
  }

  function stop(): void {
    fail(signal.reason)
  }

  function openBody(active: Dispatcher.DispatchController): Readable {
    const body = new Readable({
      highWaterMark: 65_536,
      read: () => active.resume(),
      destroy(error, done) {
        // A reader that leaves early gives the connection up; after the end this changes nothing.
        if (!isOver)
          fail(error ?? new GuardedError(networkFault('cancelled', 'reader', `${origin}: the body was left`)))
        done(error)
      },
    })
    return heard(body)
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(active) {
      if (isOver) return active.abort(new Error('over'))
      controller = active
    },
    onRequestUpgrade(_, status, _headers, socket) {
      socket.destroy()
      fail(unexpected(origin, status))
    },
    onResponseStart(active, status, incoming) {
      if (isOver || status < 200) return
      const headers = headersOf(incoming)
      if (redirects.has(status)) return fail(redirected(request, status, headers))
      if (Number(headers.get('content-length') ?? 0) > maxResponseBytes && method !== 'HEAD')
        return fail(tooLarge(origin, maxResponseBytes))
      const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
      const encoding = hasBody ? (headers.get('content-encoding') ?? '') : ''
      raw = openBody(active)
      const body = decodedBody(raw, encoding, origin, maxResponseBytes)
      resolve({ status, headers, body: heard(body) })
    },
    onResponseData(active, part) {
      bytes += part.byteLength
      if (bytes > maxResponseBytes) return fail(tooLarge(origin, maxResponseBytes))
      if (raw?.push(part) === false) active.pause()
    },
    onResponseEnd() {
      finish()
      raw?.push(null)
    },
    onResponseError(_, error) {
      if (!isOver) fail(error)
    },
  }

  if (signal.aborted) fail(signal.reason)
  else {
    signal.addEventListener('abort', stop, { once: true })
    try {
      dispatcher.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler)
    } catch (error) {
      fail(error)
    }
  }
  return promise
}

/** Who has not begun to read yet hears of a fault when reading; unheard, its event would end the process. */
function heard(stream: Readable): Readable {
  return stream.on('error', () => {})
}

function headersOf(incoming: { [name: string]: string | string[] | undefined }): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming)) {
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one)
  }
  return headers
}

/** Names where it would have led by its origin alone: the rest of a location may carry a token. */
function redirected({ origin }: SentRequest, status: number, headers: Headers): GuardedError {
  const target = URL.parse(headers.get('location') ?? '', origin)
  const where = target === null || target.origin === 'null' ? 'an unreadable address' : target.origin
  const message = `no_redirects refuses ${origin}: it answered ${status} to ${where}, and redirects are not followed; write the final address`
  return new GuardedError(networkFault('redirect', 'no_redirects', message, true))
}

function unexpected(origin: string, status: number): GuardedError {
  const message = `${origin}: it answered ${status}, which changes the protocol; correct the server`
  return new GuardedError(networkFault('protocol', 'upgrade', message, true))
}
