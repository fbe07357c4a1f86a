import { bareHost, normalizeHost, type Target } from '../../policy/decision/index.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** The proxy that the runner's variables name for a target; `authorization` is a secret and stands in no fact. */
export interface RunnerProxy {
  target: Target
  /** Value of Proxy-Authorization, null where the variable holds no credentials. */
  authorization: string | null
}

export type ProxyResult = { ok: true; proxy: RunnerProxy | null } | { ok: false; detail: string }

/**
 * `https_proxy` or `http_proxy` by the target's scheme, then `all_proxy`, unless `no_proxy` excludes the host; of each
 * name the lower-case form first. Only asked where policy says allowProxy.
 */
export function proxyOf(target: Target, environment: Environment): ProxyResult {
  const name = target.scheme === 'https' ? 'https_proxy' : 'http_proxy'
  const [variable, text] = firstOf(environment, [name, name.toUpperCase(), 'all_proxy', 'ALL_PROXY'])
  if (text === '' || isExcluded(target, firstOf(environment, ['no_proxy', 'NO_PROXY'])[1]))
    return { ok: true, proxy: null }
  const url = URL.parse(text)
  const scheme = url?.protocol.slice(0, -1)
  if (url === null || (scheme !== 'http' && scheme !== 'https'))
    return {
      ok: false,
      detail: `the variable ${variable} is no proxy URL, \`http://HOST:PORT\` or \`https://HOST:PORT\``,
    }
  const host = normalizeHost(url.hostname)
  if (!host.ok) return { ok: false, detail: `the variable ${variable} names no proxy host` }
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port)
  return { ok: true, proxy: { target: { scheme, host: host.host, port }, authorization: authorizationOf(url) } }
}

function firstOf(environment: Environment, names: readonly string[]): [name: string, value: string] {
  for (const name of names) {
    const value = environment[name]?.trim() ?? ''
    if (value !== '') return [name, value]
  }
  return ['', '']
}

function authorizationOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  const credentials = `${decoded(username)}:${decoded(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}

/** A `%` that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Entries by commas or spaces: `*`, a host with its subdomains (with or without a leading dot or `*.`), each with a port or none. */
function isExcluded({ host, port }: Target, list: string): boolean {
  const name = bareHost(host)
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some(entry => {
      if (entry === '*') return true
      const [, text = '', wanted] = /^(.*?)(?::([0-9]+))?$/.exec(isIpv6(entry) ? `[${entry}]` : entry) ?? []
      if (text === '' || (wanted !== undefined && Number(wanted) !== port)) return false
      const excluded = bareHost(text).replace(/^\*?\./, '')
      return name === excluded || name.endsWith(`.${excluded}`)
    })
}

function isIpv6(entry: string): boolean {
  return !entry.startsWith('[') && entry.indexOf(':') !== entry.lastIndexOf(':')
}
