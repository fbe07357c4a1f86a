import { normalizeHost } from '../hosts.ts'

/** Where a request goes: everything of its URL that policy judges. Never path or query, which may carry a secret. */
export interface Target {
  /** Without colon, lower case. Whether it may be used is `judgeTarget`'s matter. */
  scheme: string
  /** Normal form of `normalizeHost`; IPv6 is bracketed. */
  host: string
  /** The effective port: the scheme's own (https 443, http 80) where the URL names none. */
  port: number
}

export type TargetFaultCause = 'malformed_url' | 'userinfo' | 'malformed_host' | 'unknown_scheme' | 'port_zero'

export type TargetResult =
  | {
      ok: true
      target: Target
      /** Path and query as they are sent; the fragment is dropped. */
      path: string
    }
  | { ok: false; cause: TargetFaultCause; detail: string }

/** What to change for each fault of a URL. */
export const targetRemedies: { readonly [cause in TargetFaultCause]: string } = {
  malformed_url: 'write an absolute URL, `https://HOST/PATH`, without spaces and backslashes',
  userinfo: 'remove what stands before `@`; give credentials by a secret header',
  malformed_host: 'write a host name or an IP address',
  unknown_scheme: 'use https, or http where the policy allows it',
  port_zero: 'name a port from 1 to 65,535',
}

const defaultPorts: { readonly [scheme: string]: number } = { https: 443, http: 80 }

/**
 * Reads the URL of a request. Stricter than the URL standard, which repairs what it can: no control character, space or
 * backslash, `//` after the scheme, nothing before an `@`. No detail repeats the URL: it may hold credentials.
 */
export function parseTarget(text: string): TargetResult {
  const fault = spellingFault(text)
  if (fault !== null) return fault
  const url = URL.parse(text)
  if (url === null) return { ok: false, cause: 'malformed_url', detail: 'it cannot be read as an absolute URL' }
  const scheme = url.protocol.slice(0, -1)
  const defaultPort = defaultPorts[scheme]
  if (defaultPort === undefined)
    return { ok: false, cause: 'unknown_scheme', detail: `the scheme \`${scheme}\` is neither https nor http` }
  const normal = normalizeHost(url.hostname)
  if (!normal.ok) return { ok: false, cause: 'malformed_host', detail: normal.message }
  const port = url.port === '' ? defaultPort : Number(url.port)
  if (port === 0) return { ok: false, cause: 'port_zero', detail: 'no server answers on port 0' }
  return { ok: true, target: { scheme, host: normal.host, port }, path: `${url.pathname}${url.search}` }
}

/** `https://example.com:8443`, the port only where it is not the scheme's own. */
export function originOfTarget({ scheme, host, port }: Target): string {
  return `${scheme}://${host}${port === defaultPorts[scheme] ? '' : `:${port}`}`
}

/** The host as a socket takes it: IPv6 without brackets. */
export function bareHost(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host
}

function spellingFault(text: string): TargetResult | null {
  for (const character of text) {
    if (character <= ' ' || character === '\u007f' || character === '\\')
      return { ok: false, cause: 'malformed_url', detail: 'it holds a space, a control character or a backslash' }
  }
  const authority = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/([^/?#]+)/.exec(text)?.[1]
  if (authority === undefined)
    return { ok: false, cause: 'malformed_url', detail: 'a scheme, `//` and a host are needed' }
  if (authority.includes('@')) return { ok: false, cause: 'userinfo', detail: 'it holds credentials or an `@`' }
  return null
}
