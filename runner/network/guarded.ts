import { createSecureContext, type SecureContext } from 'node:tls'
import type { NetworkFact, NetworkRules, Policy, Target } from '../../policy/decision/index.ts'
import { compileHostRules, judgeNetwork, originOfTarget, parseTarget } from '../../policy/decision/index.ts'
import { networkFact } from '../facts/network-fact.ts'
import type { Secrets } from '../secrets.ts'
import { systemAuthorities } from './authorities.ts'
import { customAuthorities } from './custom-ca.ts'
import { exchange } from './exchange.ts'
import { exchangeFault, GuardedError, type NetworkFault, networkFault, refusedFault } from './network-fault.ts'
import type { KnownNetwork } from './pinned-connector.ts'
import { type PinnedPools, pinnedPools } from './pinned-pools.ts'
import type { Environment } from './proxy.ts'
import { endingOf } from './request-ending.ts'
import { unreadableUrl, usableFact } from './request-fact.ts'
import { checkedHeaders } from './request-headers.ts'
import type { Resolver } from './resolver.ts'
import { type BodyResult, guardedBody, wholeBody } from './response-body.ts'

export interface GuardedOptions {
  /** Reads `network.customCa`; its redactor guards every message. */
  secrets: Pick<Secrets, 'read' | 'redactor'>
  /** Where the proxy variables stand; only looked at where the policy says allowProxy. */
  environment: Environment
  /** How names are looked up; the platform's hosts file and DNS servers where it is left out. */
  resolver?: Resolver
}

export interface GuardedRequest {
  url: string
  /** Default GET. CONNECT, TRACE and upgrades are refused. */
  method?: string
  /** Values may be secret: none is ever repeated. Host and the headers of connections are the client's own and refused. */
  headers?: { readonly [name: string]: string }
  body?: string | Uint8Array
  /** What the decision was made over: the connection goes to these addresses. Without it the host is looked up now, once. */
  fact?: NetworkFact
  /** Bound of everything, look-up and whole body included, in milliseconds. */
  deadlineMs: number
  /** The caller's cancellation. */
  signal?: AbortSignal
}

/** A response within its bounds. Its body is read once: as a stream, or whole. */
export interface GuardedResponse {
  status: number
  headers: Headers
  /** Decoded; throws a GuardedError. Who stops reading gives the connection up. */
  body: AsyncIterable<Uint8Array>
  /** The whole body. */
  read(): Promise<BodyResult>
}

export type GuardedResult = { ok: true; response: GuardedResponse } | { ok: false; fault: NetworkFault }
export type ClientResult = { ok: true; client: GuardedClient } | { ok: false; fault: NetworkFault }

export interface GuardedClient {
  /** Never rejects. */
  request(request: GuardedRequest): Promise<GuardedResult>
  /** Ends what still runs and every connection. */
  close(): Promise<void>
}

/**
 * HTTP under one policy, for every effect that opens a connection (02, Network). Each request is judged whole before
 * anything is connected, and again for each new connection; connections are kept per origin and per answer, so that none
 * serves another host or another answer. A changed policy needs a client of its own. Fails where customCa cannot be had.
 */
export async function guardedClient(policy: Policy, options: GuardedOptions): Promise<ClientResult> {
  const held = structuredClone(policy)
  const redacted = redactorOf(options)
  try {
    const secureContext = await verification(held, options)
    const rules: NetworkRules = { hosts: compileHostRules(held.networkAllowlist), network: held.network }
    const pools = await pinnedPools(rules, secureContext, options.environment)
    const request = (asked: GuardedRequest) => guardedRequest(asked, { policy: held, rules, options, pools, redacted })
    return { ok: true, client: { request, close: () => pools.close() } }
  } catch (error) {
    return { ok: false, fault: redacted(error instanceof GuardedError ? error.fault : authoritiesFault()) }
  }
}

interface Client {
  policy: Policy
  rules: NetworkRules
  options: GuardedOptions
  pools: PinnedPools
  redacted: (fault: NetworkFault) => NetworkFault
}

async function guardedRequest(asked: GuardedRequest, client: Client): Promise<GuardedResult> {
  const { rules, pools, redacted } = client
  const { url, method = 'GET', headers = {}, body = null } = asked
  let origin = 'the URL'
  let stopWaiting = () => {}
  try {
    const parsed = parseTarget(url)
    if (!parsed.ok) throw unreadableUrl(parsed.cause, parsed.detail)
    origin = originOfTarget(parsed.target)
    const sent = { origin, path: parsed.path, method, headers: checkedHeaders(origin, method, headers), body }
    const { signal, clear } = endingOf(origin, asked.deadlineMs, asked.signal)
    stopWaiting = clear
    const fact = await factOf(asked, parsed.target, client, signal)
    const refused = judgeNetwork(rules, fact)
    if (refused !== null) throw new GuardedError(refusedFault(refused))
    const pool = pools.take(fact)
    const over = () => {
      clear()
      pool.giveBack()
    }
    const { maxResponseBytes } = rules.network
    const answer = await exchange(pool.dispatcher, sent, { maxResponseBytes, signal, over })
    const guarded = guardedBody(answer.body, redacted)
    return { ok: true, response: { ...answer, body: guarded, read: () => wholeBody(guarded) } }
  } catch (error) {
    stopWaiting()
    return { ok: false, fault: redacted(exchangeFault(origin, error, false)) }
  }
}

/** The request's own fact, or the answer of one look-up now. */
async function factOf(
  { url, fact }: GuardedRequest,
  target: Target,
  { policy, options }: Client,
  signal: AbortSignal,
): Promise<KnownNetwork> {
  const given = fact ?? (await networkFact(url, policy, { ...options, signal }))
  signal.throwIfAborted()
  return usableFact(given, target)
}

/** Certificates and versions that count, whatever Node's own options and variables say. */
async function verification(policy: Policy, { secrets }: GuardedOptions): Promise<SecureContext> {
  const custom = await customAuthorities(policy, secrets)
  const ca = [...(await systemAuthorities()), ...custom]
  return createSecureContext({ ca, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' })
}

function authoritiesFault(): NetworkFault {
  const message = "system_authorities: the platform's certificate authorities could not be read; check the runner"
  return networkFault('tls', 'system_authorities', message)
}

function redactorOf({ secrets }: GuardedOptions) {
  return (fault: NetworkFault): NetworkFault => ({ ...fault, message: secrets.redactor.text(fault.message) })
}
