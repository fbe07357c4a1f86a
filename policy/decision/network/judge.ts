import { type HostRules, hostAllowed } from '../hosts.ts'
import type { NetworkPolicy, Policy } from '../policy.ts'
import { type Address, addressText, compareAddresses, parseAddress } from './address.ts'
import { classify } from './address-class.ts'
import type { NetworkFact } from './fact.ts'
import { originOfTarget, type Target } from './target.ts'

/** A refused connection: which rule, of which field of `spec.policy`, what it refuses, and the change that would allow it. */
export interface NetworkRefusal {
  /** `networkAllowlist`, `network.allowedPorts`, or a fixed rule's name, `empty_answer`. */
  rule: string
  /** The field whose rule it is; null for a fixed rule, which no policy changes. */
  field: keyof Policy | null
  subject: string
  detail: string
  /** What to write, `add 8443 to allowedPorts`. */
  change: string
}

/** What of a policy the network rules need. */
export interface NetworkRules {
  hosts: HostRules
  network: NetworkPolicy
}

/** Everything that can be judged before a name is looked up; nothing is asked of DNS for a host that is not allowed. */
export function judgeTarget({ hosts, network }: NetworkRules, target: Target): NetworkRefusal | null {
  const { scheme, host, port } = target
  const subject = originOfTarget(target)
  const refuse = refusalOf(subject)
  if (!network.allowedSchemes.some(allowed => allowed === scheme))
    return refuse(
      'network.allowedSchemes',
      'network',
      'the scheme is not allowed',
      `add \`${scheme}\` to allowedSchemes`,
    )
  if (!hostAllowed(hosts, host))
    return refuse('networkAllowlist', 'networkAllowlist', 'no rule covers the host', `add \`${host}\``)
  if (network.allowedPorts !== 'any' && !network.allowedPorts.includes(port))
    return refuse('network.allowedPorts', 'network', `port ${port} is not allowed`, `add ${port} to allowedPorts`)
  return null
}

/** One answer of a resolver, whole: a single address that may not be reached refuses all of them. */
export function judgeAnswer(
  network: NetworkPolicy,
  subject: string,
  addresses: readonly string[],
): NetworkRefusal | null {
  const refuse = refusalOf(subject)
  if (addresses.length === 0)
    return refuse('empty_answer', null, 'it has no address', 'correct the name, or its records in DNS')
  for (const text of addresses) {
    const address = parseAddress(text)
    if (address === null)
      return refuse('unknown_address', null, `\`${text}\` is no IP address`, "correct the resolver's answer")
    const { class: kind, form } = classify(address)
    if (kind === 'public' || network.allowPrivate) continue
    const what = form === null ? `a ${kind} address` : `a ${kind} address in ${form} form`
    const detail = `${addressText(address)} is ${what}, and one such address refuses the whole answer`
    return refuse('network.allowPrivate', 'network', detail, 'set allowPrivate to true')
  }
  return null
}

/** The whole question of a connection: its target, every address of it, and the proxy that would carry it. */
export function judgeNetwork(rules: NetworkRules, fact: NetworkFact & { known: true }): NetworkRefusal | null {
  const { target, addresses, proxy } = fact
  const refused = judgeTarget(rules, target) ?? judgeAnswer(rules.network, originOfTarget(target), addresses)
  if (refused !== null || proxy === null) return refused
  const subject = `the proxy ${originOfTarget(proxy.target)}`
  if (!rules.network.allowProxy)
    return refusalOf(subject)('network.allowProxy', 'network', 'no proxy may be used', 'set allowProxy to true')
  return judgeAnswer(rules.network, subject, proxy.addresses)
}

/** An answer in one order, each address once; what is no address is kept as it is, for `judgeAnswer` to refuse. */
export function sortAddresses(addresses: readonly string[]): string[] {
  const known = new Map<string, Address>()
  const unknown = new Set<string>()
  for (const text of addresses) {
    const address = parseAddress(text)
    if (address === null) unknown.add(text)
    else known.set(addressText(address), address)
  }
  return [...[...known.values()].sort(compareAddresses).map(addressText), ...[...unknown].sort()]
}

function refusalOf(subject: string) {
  return (rule: string, field: NetworkRefusal['field'], detail: string, change: string): NetworkRefusal => ({
    rule,
    field,
    subject,
    detail,
    change,
  })
}
