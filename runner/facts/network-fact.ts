import {
  addressText,
  bareHost,
  compileHostRules,
  judgeTarget,
  type NetworkFact,
  type Policy,
  parseAddress,
  parseTarget,
  sortAddresses,
} from '../../policy/decision/index.ts'
import { type Environment, proxyOf } from '../network/proxy.ts'
import { dnsResolver, type Resolver, resolveWithin } from '../network/resolver.ts'

export interface NetworkFactOptions {
  /** How names are looked up; the platform's hosts file and DNS servers where it is left out. */
  resolver?: Resolver
  /** Where proxy variables are read from, if the policy says allowProxy. */
  environment: Environment
  /** Ends the waiting; the fact is then unknown with cause `dns_cancelled`. */
  signal?: AbortSignal
}

/**
 * Where a URL leads, looked up once within `network.connectTimeoutSeconds` for each name. The decision and the client are
 * both given this answer. A host that the policy refuses by name is never asked of DNS. Causes of an unknown fact: those
 * of `parseTarget` and `resolveWithin`, and `proxy_variable`.
 */
export async function networkFact(url: string, policy: Policy, options: NetworkFactOptions): Promise<NetworkFact> {
  const { network } = policy
  const parsed = parseTarget(url)
  if (!parsed.ok) return { known: false, cause: parsed.cause, detail: parsed.detail }
  const { target } = parsed
  if (judgeTarget({ hosts: compileHostRules(policy.networkAllowlist), network }, target) !== null)
    return { known: true, target, addresses: [], proxy: null }
  const addresses = await addressesOf(target.host, network.connectTimeoutSeconds, options)
  if ('known' in addresses || !network.allowProxy)
    return 'known' in addresses ? addresses : { known: true, target, addresses, proxy: null }
  const found = proxyOf(target, options.environment)
  if (!found.ok) return { known: false, cause: 'proxy_variable', detail: found.detail }
  if (found.proxy === null) return { known: true, target, addresses, proxy: null }
  const through = await addressesOf(found.proxy.target.host, network.connectTimeoutSeconds, options)
  if ('known' in through) return through
  return { known: true, target, addresses, proxy: { target: found.proxy.target, addresses: through } }
}

type UnknownNetwork = NetworkFact & { known: false }

/** An address is its own answer. */
async function addressesOf(
  host: string,
  seconds: number,
  { resolver = dnsResolver(), signal }: NetworkFactOptions,
): Promise<string[] | UnknownNetwork> {
  const literal = parseAddress(bareHost(host))
  if (literal !== null) return [addressText(literal)]
  const answer = await resolveWithin(resolver, host, seconds, signal)
  if (!answer.ok) return { known: false, cause: answer.cause, detail: answer.detail }
  return sortAddresses(answer.addresses)
}
