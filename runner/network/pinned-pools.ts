import type { SecureContext } from 'node:tls'
import { type NetworkRules, originOfTarget } from '../../policy/decision/index.ts'
import { GuardedError, networkFault } from './network-fault.ts'
import { type KnownNetwork, pinnedConnector } from './pinned-connector.ts'
import { type Environment, proxyOf, type RunnerProxy } from './proxy.ts'
import type { Dispatcher } from './undici.ts'

/** The connections to one origin by one answer, lent to one exchange. */
export interface LentPool {
  origin: string
  dispatcher: Dispatcher
  /** The exchange is over; a connection that nobody waits for any more is not made. */
  giveBack(): void
}

export interface PinnedPools {
  /** Throws a GuardedError where the runner's proxy is no longer the fact's, and after `close`. */
  take(fact: KnownNetwork): LentPool
  close(): Promise<void>
}

interface Pool {
  key: string
  agent: Dispatcher
  dials: AbortController
  dialling: number
  active: number
}

/** Connections to one origin at the same time: maxConcurrency's own bound. */
const connectionsMax = 64
const headerBytesMax = 16_384

/**
 * Connections kept alive per origin, each for one answer only: another answer of the same host gets connections of its
 * own, and those of the former one end with the exchanges that they carry.
 */
export async function pinnedPools(
  rules: NetworkRules,
  secureContext: SecureContext,
  environment: Environment,
): Promise<PinnedPools> {
  const { Agent } = await import('./undici.ts')
  const current = new Map<string, Pool>()
  const open = new Set<Pool>()
  let isClosed = false

  function openPool(key: string, fact: KnownNetwork): Pool {
    const dials = new AbortController()
    const connector = pinnedConnector(
      { fact, rules, proxy: proxyOfFact(fact, environment), secureContext },
      dials.signal,
    )
    const connect: typeof connector = (asked, connected) => {
      pool.dialling++
      connector(asked, (...answer) => {
        pool.dialling--
        connected(...answer)
      })
    }
    const agent = new Agent({
      connect,
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: headerBytesMax,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
    })
    const pool: Pool = { key, agent, dials, dialling: 0, active: 0 }
    open.add(pool)
    return pool
  }

  async function end(pool: Pool): Promise<void> {
    pool.dials.abort()
    await pool.agent.destroy()
    open.delete(pool)
  }

  function retire(origin: string, pool: Pool): void {
    if (current.get(origin) === pool) current.delete(origin)
    if (pool.active === 0) end(pool).catch(() => {})
  }

  return {
    take(fact) {
      const origin = originOfTarget(fact.target)
      if (isClosed)
        throw new GuardedError(networkFault('broken', 'client_closed', `${origin}: the client is closed; open another`))
      const key = JSON.stringify([fact.addresses, fact.proxy])
      const former = current.get(origin)
      if (former !== undefined && former.key !== key) retire(origin, former)
      const pool = former?.key === key ? former : openPool(key, fact)
      current.set(origin, pool)
      pool.active++
      return {
        origin,
        dispatcher: pool.agent,
        giveBack() {
          pool.active--
          // A pool that still dials for nobody, or whose answer was replaced, goes whole: its next user must not inherit its end.
          if (pool.active === 0 && (pool.dialling > 0 || current.get(origin) !== pool)) retire(origin, pool)
        },
      }
    },
    async close() {
      isClosed = true
      current.clear()
      await Promise.all([...open].map(end))
    },
  }
}

/** The fact's proxy with its credentials, which stand in no fact. */
function proxyOfFact(fact: KnownNetwork, environment: Environment): RunnerProxy | null {
  if (fact.proxy === null) return null
  const found = proxyOf(fact.target, environment)
  const proxy = found.ok ? found.proxy : null
  if (proxy !== null && originOfTarget(proxy.target) === originOfTarget(fact.proxy.target)) return proxy
  const message = `the proxy ${originOfTarget(fact.proxy.target)}: the runner's proxy variables changed since it was judged; start again`
  throw new GuardedError(networkFault('proxy', 'proxy_changed', message))
}
