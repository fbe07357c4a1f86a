import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** An OIDC issuer on a loopback port, for tokens that GitHub would never sign. */
export interface Issuer {
  url: string
  /** Signs `claims` over those of a valid token; a claim set to undefined is left out. */
  token(claims?: { [claim: string]: unknown }, options?: { key?: CryptoKey; algorithm?: string }): Promise<string>
  /** New keys from now on; the old ones are gone from the key set. */
  rotate(): Promise<void>
  /** Requests answered, by path. */
  asked: string[]
  /** While set, requests for these paths are answered with this status. */
  fail: { status: number; paths: RegExp } | null
  close(): Promise<void>
}

export const audience = 'https://agentctl.example.dev'

/** Whole seconds of a Date. */
export const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

export async function startIssuer(now: () => Date): Promise<Issuer> {
  let kid = 0
  let pair = await generateKeyPair('RS256')
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    void answer(request.url ?? '').then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`

  async function answer(path: string): Promise<{ status: number; body: object }> {
    if (issuer.fail?.paths.test(path)) return { status: issuer.fail.status, body: {} }
    if (path === '/.well-known/openid-configuration') {
      return { status: 200, body: { issuer: url, jwks_uri: `${url}/keys` } }
    }
    const key = { ...(await exportJWK(pair.publicKey)), kid: String(kid), alg: 'RS256', use: 'sig' }
    return { status: 200, body: { keys: [key] } }
  }

  const issuer: Issuer = {
    url,
    asked,
    fail: null,
    async token(claims = {}, { key = pair.privateKey, algorithm = 'RS256' } = {}) {
      const valid = {
        iss: url,
        aud: audience,
        iat: seconds(now()),
        exp: seconds(now()) + 300,
        jti: crypto.randomUUID(),
        repository_id: '701',
        repository: 'octo/app',
        repository_visibility: 'private',
        run_id: '9001',
        run_attempt: '2',
        workflow_ref: 'octo/app/.github/workflows/release.yml@refs/heads/main',
        ref: 'refs/heads/main',
        sha: 'a'.repeat(40),
        event_name: 'push',
        actor_id: '41',
        actor: 'alice',
      }
      return new SignJWT({ ...valid, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: String(kid), typ: 'JWT' })
        .sign(key)
    },
    async rotate() {
      kid += 1
      pair = await generateKeyPair('RS256')
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return issuer
}
