/**
 * Host rules: an exact host, or `*.suffix` for its subdomains only, neither the apex nor a lookalike. Hosts are compared
 * in the form that the URL standard gives them: lower case, punycode, one spelling per IP address, no trailing dot.
 */
export type HostResult = { ok: true; host: string } | { ok: false; message: string }

/** Normal form of a host name or IP address, without port. IPv6 is bracketed. */
export function normalizeHost(text: string): HostResult {
  const bare = isBareIpv6(text) ? `[${text}]` : text
  const fault = hostFault(bare)
  if (fault !== null) return { ok: false, message: fault }
  if (!URL.canParse(`http://${bare}/`)) return { ok: false, message: `\`${text}\` is not a host name or IP address` }
  const { hostname } = new URL(`http://${bare}/`)
  const host = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  if (host === '' || host.split('.').includes('')) return { ok: false, message: `\`${text}\` has an empty label` }
  const named = nameFault(host)
  return named === null ? { ok: true, host } : { ok: false, message: `\`${text}\`: ${named}` }
}

/** Normal form of a host rule. */
export function normalizeHostRule(rule: string): HostResult {
  if (!rule.startsWith('*.')) return normalizeHost(rule)
  const suffix = normalizeHost(rule.slice(2))
  if (!suffix.ok) return suffix
  if (isIpAddress(suffix.host))
    return { ok: false, message: `\`${rule}\`: an IP address has no subdomains; name the address itself` }
  return { ok: true, host: `*.${suffix.host}` }
}

/** Whether a rule covers a host; both in normal form. */
export function hostRuleMatches(rule: string, host: string): boolean {
  if (!rule.startsWith('*.')) return rule === host
  return host.endsWith(rule.slice(1))
}

/** Whether everything that `inner` allows, `outer` allows; both rules in normal form. */
export function hostRuleContains(outer: string, inner: string): boolean {
  if (outer === inner) return true
  return outer.startsWith('*.') && hostRuleMatches(outer, inner.startsWith('*.') ? inner.slice(2) : inner)
}

/** Host rules compiled for look-up: a host costs its own labels, however many rules there are. */
export interface HostRules {
  exact: ReadonlySet<string>
  /** Suffixes without `*.`. */
  suffixes: ReadonlySet<string>
}

/** Rules as documents write them; one that is no host rule allows nothing. */
export function compileHostRules(rules: readonly string[]): HostRules {
  const normal = rules.map(normalizeHostRule).flatMap(rule => (rule.ok ? [rule.host] : []))
  return {
    exact: new Set(normal.filter(rule => !rule.startsWith('*.'))),
    suffixes: new Set(normal.filter(rule => rule.startsWith('*.')).map(rule => rule.slice(2))),
  }
}

/** Whether any rule covers a host in normal form. */
export function hostAllowed({ exact, suffixes }: HostRules, host: string): boolean {
  if (exact.has(host)) return true
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    if (suffixes.has(host.slice(dot + 1))) return true
  }
  return false
}

/** The URL standard lets through characters and lengths that no host name has (RFC 1035, 2.3.4; `_` is in use). */
function nameFault(host: string): string | null {
  if (host.startsWith('[')) return null
  if (host.length > 253) return 'a host name has at most 253 characters'
  if (host.split('.').some(label => label.length > 63)) return 'a label of a host name has at most 63 characters'
  for (const character of host) {
    if (!'abcdefghijklmnopqrstuvwxyz0123456789-_.'.includes(character))
      return 'a host name holds letters, digits, `-` and `_` only'
  }
  return null
}

function hostFault(text: string): string | null {
  if (text === '') return 'a host is needed'
  const inBrackets = text.startsWith('[') && text.endsWith(']')
  for (const character of text) {
    if (character <= ' ' || character === '\u007f') return 'a host holds no space or control character'
    if ('/?#@\\'.includes(character))
      return `\`${text}\` is more than a host; write the host alone, without scheme, user or path`
    if (character === '%') return `\`${text}\`: percent-encoding is refused in a rule; write the host as it is`
    if (character === '*') return `\`${text}\`: \`*\` stands only at the start, as in \`*.example.com\``
    if (character === ':' && !inBrackets)
      return `\`${text}\`: ports belong to network.allowedPorts; write the host alone`
  }
  return null
}

function isBareIpv6(text: string): boolean {
  if (text.indexOf(':') === text.lastIndexOf(':')) return false
  for (const character of text) if (!'0123456789abcdefABCDEF:.'.includes(character)) return false
  return true
}

/** The URL standard writes every spelling of an IPv4 address as four decimal numbers. */
function isIpAddress(host: string): boolean {
  if (host.startsWith('[')) return true
  const last = host.split('.').at(-1) ?? ''
  return last !== '' && Array.from(last).every(digit => digit >= '0' && digit <= '9')
}
