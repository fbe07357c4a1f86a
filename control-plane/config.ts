import { z } from 'zod'

/** What the control plane needs to know, the same on Node (environment) and on Workers (vars and secrets). */
export interface Config {
  /** Origin under which people and jobs reach this control plane, without a trailing slash. */
  publicUrl: string
  /** GitHub's REST base without a trailing slash, `https://api.github.com` or `https://HOST/api/v3`. */
  apiUrl: string
  /** GitHub's web base without a trailing slash, for links in a browser. */
  serverUrl: string
  /** Any of them may have signed a delivery; never empty, none of them empty. */
  webhookSecrets: string[]
  /** The App; null where one owner's token stands in. */
  app: { id: string; privateKey: string } | null
  /** GITHUB_TOKEN for one owner; null where the App is configured. */
  token: string | null
  /** The App's user authorisation: without it no person can sign in. */
  client: { id: string; secret: string } | null
  allowPersonalTokens: boolean
  oidc: { issuer: string; audience: string }
  /** HMAC key of lease tokens, 32 bytes. */
  sessionKey: Uint8Array
  /** Ed25519 private key (PKCS#8 PEM) that signs chain heads; null = heads are not signed. */
  auditKey: string | null
}

/** Configuration of the Node entry. */
export interface NodeConfig extends Config {
  port: number
  /** Directory of the ledgers. */
  data: string
}

/** A refusal to start; the message names the variable and what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

const url = z
  .string()
  .refine(text => URL.canParse(text), { error: 'is not a URL', abort: true })
  .refine(text => {
    const { protocol, hostname } = new URL(text)
    return protocol === 'https:' || (protocol === 'http:' && loopback.has(hostname))
  }, 'must be https: (http: is allowed on loopback only)')
  .refine(text => new URL(text).search === '' && new URL(text).hash === '', 'must have neither query nor fragment')
  .transform(text => text.replace(/\/+$/, ''))

const origin = url.refine(text => new URL(text).origin === text, 'must be an origin without a path')
const text = z.string().min(1, 'must not be empty')

// A PEM often reaches an environment on one line, its line ends written as \n.
const pem = text
  .transform(value => value.replaceAll('\\n', '\n'))
  .refine(value => value.includes('-----BEGIN '), 'is not a PEM')

const secrets = z
  .string()
  .transform(value => value.split(',').map(secret => secret.trim()))
  .refine(list => list.every(secret => secret.length > 0), 'must be secrets separated by commas, none of them empty')

const environmentSchema = z.object({
  AGENTCTL_PUBLIC_URL: origin,
  GITHUB_API_URL: url.default('https://api.github.com'),
  GITHUB_SERVER_URL: url.default('https://github.com'),
  GITHUB_WEBHOOK_SECRETS: secrets,
  GITHUB_APP_ID: text.optional(),
  GITHUB_APP_PRIVATE_KEY: pem.optional(),
  GITHUB_TOKEN: text.optional(),
  GITHUB_APP_CLIENT_ID: text.optional(),
  GITHUB_APP_CLIENT_SECRET: text.optional(),
  AGENTCTL_ALLOW_PAT: z.enum(['', '0', '1', 'false', 'true']).default('false'),
  OIDC_ISSUER: url.optional(),
  OIDC_AUDIENCE: text.optional(),
  AGENTCTL_SESSION_KEY: z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits'),
  AGENTCTL_AUDIT_KEY: pem.optional(),
})

/** Names of the variables and secrets that both entries read. */
export const configNames: readonly string[] = Object.keys(environmentSchema.shape)

const nodeSchema = environmentSchema.extend({
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port number')
    .default('8080')
    .transform(Number),
  AGENTCTL_DATA: text,
})

/** Names in which `environment` holds text; an empty variable counts as not set. */
type Environment = { readonly [name: string]: unknown }

/** Reads and checks the configuration. Throws ConfigError naming every missing or bad variable. */
export function parseConfig(environment: Environment): Config {
  return configOf(parse(environmentSchema, environment))
}

/** Configuration of the Node entry, its port and data directory included. Throws as `parseConfig`, all names at once. */
export function parseNodeConfig(environment: Environment): NodeConfig {
  const env = parse(nodeSchema, environment)
  return { ...configOf(env), port: env.PORT, data: env.AGENTCTL_DATA }
}

function configOf(env: z.output<typeof environmentSchema>): Config {
  const app = both(env.GITHUB_APP_ID, env.GITHUB_APP_PRIVATE_KEY)
  const client = both(env.GITHUB_APP_CLIENT_ID, env.GITHUB_APP_CLIENT_SECRET)
  return {
    publicUrl: env.AGENTCTL_PUBLIC_URL,
    apiUrl: env.GITHUB_API_URL,
    serverUrl: env.GITHUB_SERVER_URL,
    webhookSecrets: env.GITHUB_WEBHOOK_SECRETS,
    app: app === null ? null : { id: app[0], privateKey: app[1] },
    token: app === null ? (env.GITHUB_TOKEN ?? null) : null,
    client: client === null ? null : { id: client[0], secret: client[1] },
    allowPersonalTokens: ['1', 'true'].includes(env.AGENTCTL_ALLOW_PAT),
    oidc: {
      issuer: env.OIDC_ISSUER ?? issuerOf(env.GITHUB_SERVER_URL),
      audience: env.OIDC_AUDIENCE ?? env.AGENTCTL_PUBLIC_URL,
    },
    sessionKey: Uint8Array.from(env.AGENTCTL_SESSION_KEY.match(/../g) ?? [], pair => Number.parseInt(pair, 16)),
    auditKey: env.AGENTCTL_AUDIT_KEY ?? null,
  }
}

/** GitHub's OIDC issuer of a server: github.com, an enterprise on ghe.com, or a GHES host. */
function issuerOf(serverUrl: string): string {
  const { hostname, origin: server } = new URL(serverUrl)
  if (hostname === 'github.com') return 'https://token.actions.githubusercontent.com'
  if (hostname.endsWith('.ghe.com')) return `https://token.actions.${hostname}`
  return `${server}/_services/token`
}

function parse<Schema extends z.ZodType>(schema: Schema, environment: Environment): z.output<Schema> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(given)
  const alone = faultsOfPairs(given)
  if (parsed.success && alone.length === 0) return parsed.data
  const issues = parsed.success ? [] : parsed.error.issues
  const faults = issues.map(issue => {
    const name = issue.path.join('.')
    return given[name] === undefined ? `${name} is not set` : `${name} ${issue.message}`
  })
  throw new ConfigError([...new Set([...faults, ...alone])].join('; '))
}

const pairs = [
  ['GITHUB_APP_ID', 'GITHUB_APP_PRIVATE_KEY'],
  ['GITHUB_APP_CLIENT_ID', 'GITHUB_APP_CLIENT_SECRET'],
] as const

/** What no schema of one variable sees: half a pair, and no account at all. */
function faultsOfPairs(given: Environment): string[] {
  const halves = pairs.flatMap(([left, right]) => {
    if ((given[left] === undefined) === (given[right] === undefined)) return []
    const [missing, present] = given[left] === undefined ? [left, right] : [right, left]
    return [`${missing} is not set, though ${present} is`]
  })
  const accounts = ['GITHUB_APP_ID', 'GITHUB_APP_PRIVATE_KEY', 'GITHUB_TOKEN']
  if (accounts.some(name => given[name] !== undefined)) return halves
  return [...halves, 'GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY (or GITHUB_TOKEN for one owner) are not set']
}

function both<Value>(left: Value | undefined, right: Value | undefined) {
  return left === undefined || right === undefined ? null : ([left, right] as const)
}
