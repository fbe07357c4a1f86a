import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { judgeNetwork, type NetworkFact, type NetworkRules, originOfTarget } from '../../policy/decision/index.ts'
import { dial, secure } from './dial.ts'
import { connectionFault, GuardedError, networkFault, refusedFault } from './network-fault.ts'
import type { RunnerProxy } from './proxy.ts'
import { openTunnel } from './tunnel.ts'

export type KnownNetwork = NetworkFact & { known: true }

/** Everything that one connection is bound to. */
export interface Pin {
  fact: KnownNetwork
  rules: NetworkRules
  /** The fact's proxy with its credentials; null where the fact has none. */
  proxy: RunnerProxy | null
  secureContext: SecureContext
}

type Connected = (...answer: [null, Socket] | [Error, null]) => void

/**
 * The `connect` of an undici Agent for one pin. Each new connection is judged again, goes to an address of the fact and
 * nowhere else, and is ready within `connectTimeoutSeconds`, TLS and proxy included. Always calls back with a GuardedError.
 */
export function pinnedConnector(pin: Pin, cancelled: AbortSignal) {
  return (asked: { protocol: string; hostname: string; port: string }, connected: Connected): void => {
    connectPinned(pin, asked, cancelled).then(
      socket => connected(null, socket),
      (error: unknown) => {
        const { target } = pin.fact
        connected(new GuardedError(connectionFault(originOfTarget(target), error)), null)
      },
    )
  }
}

async function connectPinned(
  pin: Pin,
  asked: { protocol: string; hostname: string; port: string },
  cancelled: AbortSignal,
): Promise<Socket> {
  const { fact, rules, proxy, secureContext } = pin
  const { target } = fact
  assertAsked(fact, asked)
  const refused = judgeNetwork(rules, fact)
  if (refused !== null) throw new GuardedError(refusedFault(refused))
  const milliseconds = rules.network.connectTimeoutSeconds * 1000
  const until = Date.now() + milliseconds
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), milliseconds)
  const signal = AbortSignal.any([timeout.signal, cancelled])
  try {
    const plain =
      proxy === null
        ? await dial(fact.addresses, target.port, until, signal)
        : await throughProxy(pin, proxy, until, signal)
    return target.scheme === 'https' ? await secure(plain, target, secureContext, signal) : plain
  } catch (error) {
    if (!timeout.signal.aborted) throw error
    const message = `${originOfTarget(target)}: no connection within ${milliseconds / 1000} s; check that the host is up, or raise network.connectTimeoutSeconds`
    throw new GuardedError(networkFault('connect', 'ETIMEDOUT', message))
  } finally {
    clearTimeout(timer)
  }
}

/** The proxy is asked for one checked address after the other, each over a connection of its own. */
async function throughProxy(pin: Pin, proxy: RunnerProxy, until: number, signal: AbortSignal): Promise<Socket> {
  let last: unknown = new Error('no address')
  for (const address of pin.fact.addresses) {
    try {
      const plain = await dial(pin.fact.proxy?.addresses ?? [], proxy.target.port, until, signal)
      const socket =
        proxy.target.scheme === 'https' ? await secure(plain, proxy.target, pin.secureContext, signal) : plain
      await openTunnel(socket, proxy, address, pin.fact.target.port, signal)
      return socket
    } catch (error) {
      last = error
      if (signal.aborted) break
    }
  }
  throw last
}

/** undici must ask for the pinned origin only; anything else would be a connection without a check. */
function assertAsked({ target }: KnownNetwork, asked: { protocol: string; hostname: string; port: string }): void {
  const port = asked.port === '' ? (asked.protocol === 'https:' ? 443 : 80) : Number(asked.port)
  const host = asked.hostname.includes(':') ? `[${asked.hostname}]` : asked.hostname
  if (asked.protocol === `${target.scheme}:` && host === target.host && port === target.port) return
  const message = `pinned_target refuses a connection of ${originOfTarget(target)} to another origin; report this`
  throw new GuardedError(networkFault('refused', 'pinned_target', message))
}
