import { describe, expect, it } from 'vitest'
import { ConfigError, parseConfig, parseNodeConfig } from '../../control-plane/config.ts'
import { leastEnvironment } from './settings.ts'

const { GITHUB_TOKEN: _, ...withoutAccount } = leastEnvironment
const pem = '-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----'

const refusals: [what: string, environment: { [name: string]: string }, message: RegExp][] = [
  [
    'nothing at all',
    {},
    /^AGENTCTL_PUBLIC_URL is not set; GITHUB_WEBHOOK_SECRETS is not set; AGENTCTL_SESSION_KEY is not set; GITHUB_APP_ID and .* are not set$/,
  ],
  [
    'no account',
    withoutAccount,
    /GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY \(or GITHUB_TOKEN for one owner\) are not set/,
  ],
  [
    'an App without its key',
    { ...withoutAccount, GITHUB_APP_ID: '7' },
    /GITHUB_APP_PRIVATE_KEY is not set, though GITHUB_APP_ID is/,
  ],
  ['a key without its App', { ...withoutAccount, GITHUB_APP_PRIVATE_KEY: pem }, /GITHUB_APP_ID is not set/],
  [
    'a client without its secret',
    { ...leastEnvironment, GITHUB_APP_CLIENT_ID: 'Iv1' },
    /GITHUB_APP_CLIENT_SECRET is not set/,
  ],
  ['no webhook secret', { ...leastEnvironment, GITHUB_WEBHOOK_SECRETS: '' }, /GITHUB_WEBHOOK_SECRETS is not set/],
  [
    'an empty webhook secret among others',
    { ...leastEnvironment, GITHUB_WEBHOOK_SECRETS: 'one,,two' },
    /GITHUB_WEBHOOK_SECRETS must be secrets separated by commas, none of them empty/,
  ],
  ['only commas', { ...leastEnvironment, GITHUB_WEBHOOK_SECRETS: ',' }, /none of them empty/],
  [
    'a short session key',
    { ...leastEnvironment, AGENTCTL_SESSION_KEY: 'abc' },
    /AGENTCTL_SESSION_KEY must be 64 hex digits/,
  ],
  [
    'http beyond loopback',
    { ...leastEnvironment, AGENTCTL_PUBLIC_URL: 'http://agentctl.example.dev' },
    /AGENTCTL_PUBLIC_URL must be https:/,
  ],
  [
    'a path in the public URL',
    { ...leastEnvironment, AGENTCTL_PUBLIC_URL: 'https://example.dev/agentctl' },
    /AGENTCTL_PUBLIC_URL must be an origin without a path/,
  ],
  ['an API that is no URL', { ...leastEnvironment, GITHUB_API_URL: 'api.github.com' }, /GITHUB_API_URL is not a URL/],
  ['an issuer over http', { ...leastEnvironment, OIDC_ISSUER: 'http://127.0.0.2' }, /OIDC_ISSUER must be https:/],
  [
    'a private key that is none',
    { ...withoutAccount, GITHUB_APP_ID: '7', GITHUB_APP_PRIVATE_KEY: 'MIIE' },
    /GITHUB_APP_PRIVATE_KEY is not a PEM/,
  ],
  ['an odd flag', { ...leastEnvironment, AGENTCTL_ALLOW_PAT: 'maybe' }, /AGENTCTL_ALLOW_PAT/],
]

describe('configuration', () => {
  it.each(refusals)('refuses to start with %s and names the variable', (_what, environment, message) => {
    expect(() => parseConfig(environment)).toThrow(ConfigError)
    expect(() => parseConfig(environment)).toThrow(message)
  })

  it('never puts a value into its message', () => {
    const environment = {
      ...leastEnvironment,
      AGENTCTL_SESSION_KEY: 'secret-value',
      GITHUB_WEBHOOK_SECRETS: 'hush,,hush',
    }
    expect(() => parseConfig(environment)).not.toThrow(/secret-value|hush/)
  })

  it('fills in what GitHub itself is known by', () => {
    expect(parseConfig(leastEnvironment)).toMatchObject({
      apiUrl: 'https://api.github.com',
      serverUrl: 'https://github.com',
      webhookSecrets: ['first', 'second'],
      app: null,
      client: null,
      allowPersonalTokens: false,
      oidc: { issuer: 'https://token.actions.githubusercontent.com', audience: 'https://agentctl.example.dev' },
    })
  })

  it.each([
    ['https://github.example.com', 'https://github.example.com/_services/token'],
    ['https://octo.ghe.com', 'https://token.actions.octo.ghe.com'],
  ])('knows the issuer of %s', (server, issuer) => {
    expect(parseConfig({ ...leastEnvironment, GITHUB_SERVER_URL: server }).oidc.issuer).toBe(issuer)
  })

  it('takes a key on one line and prefers the App', () => {
    const { app, token } = parseConfig({ ...leastEnvironment, GITHUB_APP_ID: '7', GITHUB_APP_PRIVATE_KEY: pem })
    expect(app?.privateKey.split('\n')).toHaveLength(3)
    expect(token).toBeNull()
  })

  it('takes an empty variable as one that is not set', () => {
    expect(parseConfig({ ...leastEnvironment, OIDC_AUDIENCE: '' }).oidc.audience).toBe('https://agentctl.example.dev')
  })

  it('needs a data directory on Node', () => {
    expect(() => parseNodeConfig(leastEnvironment)).toThrow(/AGENTCTL_DATA is not set/)
    expect(() => parseNodeConfig({})).toThrow(/AGENTCTL_PUBLIC_URL .* AGENTCTL_DATA is not set; GITHUB_APP_ID/)
    expect(() => parseNodeConfig({ ...leastEnvironment, AGENTCTL_DATA: '/d', PORT: 'x' })).toThrow(
      /PORT must be a port number/,
    )
    expect(parseNodeConfig({ ...leastEnvironment, AGENTCTL_DATA: '/d' }).port).toBe(8080)
  })
})
