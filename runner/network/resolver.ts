import { Resolver as DnsResolver } from 'node:dns/promises'
import { codeOf } from '../facts/unknown.ts'
import { addressesInHosts, platformHostsFile } from './hosts-file.ts'

/** Every address of a host name; rejects as Node's resolvers do, with a `code`, and gives up when the signal says so. */
export type Resolver = (host: string, signal: AbortSignal) => Promise<string[]>

export type Resolved =
  | { ok: true; addresses: string[] }
  | { ok: false; cause: 'dns_not_found' | 'dns_timeout' | 'dns_failed' | 'dns_cancelled'; detail: string }

export interface ResolverOptions {
  /** `ADDRESS:PORT` of each DNS server; the platform's own where it is left out. */
  servers?: readonly string[]
  /** The platform's where it is left out. */
  hostsFile?: string
}

/**
 * The hosts file first, then DNS for both families. Not getaddrinfo: that cannot be cut short, holds one of the four pool
 * threads and delays the end of the process, and its search list would let a rule for one name mean another. So names
 * are taken as complete, and what nsswitch.conf adds beyond files and DNS is not asked.
 */
export function dnsResolver({ servers, hostsFile = platformHostsFile }: ResolverOptions = {}): Resolver {
  return async (host, signal) => {
    const fixed = await addressesInHosts(hostsFile, host)
    if (fixed.length > 0) return fixed
    signal.throwIfAborted()
    const resolver = new DnsResolver()
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      return wholeAnswer(await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]))
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

/** A family without an answer leaves the other's; without any the more telling error counts. */
function wholeAnswer(families: PromiseSettledResult<string[]>[]): string[] {
  const addresses = families.flatMap(family => (family.status === 'fulfilled' ? family.value : []))
  const errors = families.flatMap(family => (family.status === 'rejected' ? [family.reason as unknown] : []))
  if (addresses.length > 0 || errors.length === 0) return addresses
  throw errors.find(error => !isAbsence(error)) ?? errors[0]
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
  const code = codeOf(error) || 'unknown'
  if (isAbsence(error)) return { ok: false, cause: 'dns_not_found', detail: `\`${host}\` has no address (${code})` }
  return { ok: false, cause: 'dns_failed', detail: `\`${host}\` could not be resolved (${code})` }
}

function isAbsence(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error('aborted'))
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
  })
}
