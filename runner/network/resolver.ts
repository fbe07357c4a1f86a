import { lookup } from 'node:dns/promises'

/** Every address of a host name; rejects as Node's resolvers do, with a `code`. The signal only stops waiting. */
export type Resolver = (host: string, signal: AbortSignal) => Promise<string[]>

export type Resolved =
  | { ok: true; addresses: string[] }
  | { ok: false; cause: 'dns_not_found' | 'dns_timeout' | 'dns_failed' | 'dns_cancelled'; detail: string }

/** Look-ups of the platform at one time: each holds one of Node's four pool threads, which files need as well. */
const lookupsMax = 2

/**
 * The platform's own resolution (getaddrinfo): the runner's /etc/hosts, its resolver and its search list hold, as they do
 * for every other program there. It cannot be cut short: who no longer waits leaves it to end by itself.
 */
export const systemResolver: Resolver = async (host, signal) => {
  await turn(signal)
  const found = lookup(host, { all: true, order: 'verbatim' })
  return found.then(answers => answers.map(answer => answer.address)).finally(nextTurn)
}

/** One look-up within its bound; afterwards a late answer changes nothing. */
export async function resolveWithin(
  resolver: Resolver,
  host: string,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<Resolved> {
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort('timeout'), seconds * 1000)
  const cancel = () => waiting.abort('cancelled')
  if (signal?.aborted) cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    const addresses = await Promise.race([resolver(host, waiting.signal), aborted(waiting.signal)])
    return { ok: true, addresses }
  } catch (error) {
    return failure(host, seconds, waiting.signal, error)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

function failure(host: string, seconds: number, waiting: AbortSignal, error: unknown): Resolved {
  if (waiting.reason === 'timeout')
    return { ok: false, cause: 'dns_timeout', detail: `\`${host}\` was not resolved within ${seconds} s` }
  if (waiting.aborted) return { ok: false, cause: 'dns_cancelled', detail: `the look-up of \`${host}\` was cancelled` }
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  const absent = code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EAI_NODATA'
  if (absent) return { ok: false, cause: 'dns_not_found', detail: `\`${host}\` has no address (${code})` }
  return { ok: false, cause: 'dns_failed', detail: `\`${host}\` could not be resolved (${code})` }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error('aborted'))
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
  })
}

let running = 0
const queue: (() => void)[] = []

async function turn(signal: AbortSignal): Promise<void> {
  if (running < lookupsMax) running++
  else await new Promise<void>(resolve => queue.push(resolve))
  if (!signal.aborted) return
  nextTurn()
  throw new Error('aborted')
}

/** Hands the place on to who waits longest. */
function nextTurn(): void {
  const next = queue.shift()
  if (next === undefined) running--
  else next()
}
