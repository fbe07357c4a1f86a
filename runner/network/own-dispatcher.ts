import { getCACertificates } from 'node:tls'
import { OwnCallError } from './own-error.ts'
import { isLoopback } from './own-origins.ts'
import type { Dispatcher } from './undici.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** Seconds-scale bounds of one connection; the call as a whole has its own. */
const connectTimeoutMs = 10_000

/**
 * Connections of own calls: the runner's `https_proxy` and `no_proxy` (loopback never goes through a proxy), and as
 * authorities the platform's, Node's own and NODE_EXTRA_CA_CERTS. Verification cannot be switched off by a variable.
 */
export async function ownDispatcher(url: URL, environment: Environment): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await import('./undici.ts')
  if (url.protocol === 'http:') return new Agent({ connect: { timeout: connectTimeoutMs } })
  const connect = { timeout: connectTimeoutMs, rejectUnauthorized: true, ca: authorities() }
  if (isLoopback(url)) return new Agent({ connect })
  const httpsProxy = environment['https_proxy'] || environment['HTTPS_PROXY'] || ''
  if (httpsProxy !== '' && !/^https?:\/\//i.test(httpsProxy))
    throw new OwnCallError('proxy', 'https_proxy must be a URL, http://HOST:PORT; correct it on the runner')
  // Empty texts, not absent ones: undici would read the process environment instead.
  return new EnvHttpProxyAgent({
    httpProxy: '',
    httpsProxy,
    noProxy: environment['no_proxy'] || environment['NO_PROXY'] || '',
    connect,
    requestTls: connect,
    proxyTls: connect,
  })
}

let known: string[] | undefined
function authorities(): string[] {
  known ??= [...new Set([...getCACertificates('system'), ...getCACertificates('default')])]
  return known
}
