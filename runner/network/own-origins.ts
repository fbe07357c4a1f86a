import { isIP } from 'node:net'
import { OwnCallError } from './own-error.ts'

/** The configured origins in canonical form; throws OwnCallError for one that is no URL, or `http:` away from loopback. */
export function parseOrigins(origins: readonly string[]): ReadonlySet<string> {
  return new Set(origins.map(text => checked(text).origin))
}

/** The URL of an own call, found to be at one of the origins. */
export function ownUrl(text: string, origins: ReadonlySet<string>): URL {
  const url = checked(text)
  if (!origins.has(url.origin))
    throw new OwnCallError(
      'not_own',
      `${url.origin} is not one of agentctl's own origins (${[...origins].join(', ')}); only GITHUB_API_URL, the OIDC token URL and control-plane-url are called`,
    )
  return url
}

/** Whether a URL's host is this machine by its spelling: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

function checked(text: string): URL {
  const url = URL.parse(text)
  if (url === null) throw new OwnCallError('not_own', 'an own call needs an absolute URL, https://HOST')
  if (url.username !== '' || url.password !== '')
    throw new OwnCallError('insecure', `${url.origin}: credentials in the URL are refused; remove them`)
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return url
  throw new OwnCallError('insecure', `${url.protocol}//${url.host}: http is allowed on loopback only; use https`)
}
