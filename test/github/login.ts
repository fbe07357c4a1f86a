import { createHash, randomBytes } from 'node:crypto'
import { Hono } from 'hono'
import type { AppRecord, User } from './model.ts'
import type { TokenIssuer } from './tokens.ts'
import type { World } from './world.ts'

/**
 * The App's user authorisation: web flow (state, PKCE) and device flow, at GitHub's own paths and with its own answers.
 * https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
 */
export class Login {
  readonly #world: World
  readonly #tokens: TokenIssuer
  readonly #app: AppRecord
  readonly #secret: string
  readonly #codes = new Map<string, { user: User; challenge: string | null; redirect: string | null }>()
  readonly #devices = new Map<string, { userCode: string; user: User | null; denied: boolean; expiresAt: Date }>()
  #browser: User | null = null

  constructor(world: World, tokens: TokenIssuer, app: AppRecord, secret: string) {
    this.#world = world
    this.#tokens = tokens
    this.#app = app
    this.#secret = secret
  }

  /** Who is signed in to GitHub in the browser: the web flow approves as that person at once; null shows GitHub's sign-in. */
  signInAs(user: User | null): void {
    this.#browser = user
  }

  /** The person types a device flow's code and allows it. Throws where no such code waits. */
  approveDevice(userCode: string, user: User): void {
    const device = [...this.#devices.values()].find(one => one.userCode === userCode)
    if (!device) throw new Error(`no device waits for ${userCode}`)
    device.user = user
    this.#world.changed()
  }

  denyDevice(userCode: string): void {
    const device = [...this.#devices.values()].find(one => one.userCode === userCode)
    if (!device) throw new Error(`no device waits for ${userCode}`)
    device.denied = true
  }

  /** Codes that wait for a person. */
  waitingDevices(): string[] {
    return [...this.#devices.values()].filter(one => !one.user && !one.denied).map(one => one.userCode)
  }

  routes(): Hono {
    const hono = new Hono()
    hono.get('/login/oauth/authorize', context => {
      const query = context.req.query()
      if (query['client_id'] !== this.#app.clientId) return context.text('Not Found', 404)
      if (!this.#browser) return context.html('<title>Sign in to GitHub</title>', 200)
      const code = randomBytes(10).toString('hex')
      this.#codes.set(code, {
        user: this.#browser,
        challenge: query['code_challenge'] ?? null,
        redirect: query['redirect_uri'] ?? null,
      })
      const target = new URL(query['redirect_uri'] ?? 'http://127.0.0.1/')
      target.searchParams.set('code', code)
      if (query['state'] !== undefined) target.searchParams.set('state', query['state'])
      return context.redirect(target.href, 302)
    })
    hono.post('/login/device/code', async context => {
      const body = await form(context.req.raw)
      if (body['client_id'] !== this.#app.clientId) return context.json({ error: 'Not Found' }, 404)
      const code = randomBytes(20).toString('hex')
      const userCode = `${randomBytes(2).toString('hex')}-${randomBytes(2).toString('hex')}`.toUpperCase()
      this.#devices.set(code, {
        userCode,
        user: null,
        denied: false,
        expiresAt: new Date(this.#world.now().getTime() + 900_000),
      })
      this.#world.changed()
      return context.json({
        device_code: code,
        user_code: userCode,
        verification_uri: `${this.#world.serverUrl}/login/device`,
        expires_in: 900,
        interval: 1,
      })
    })
    hono.post('/login/oauth/access_token', async context => {
      const body = await form(context.req.raw)
      if (body['client_id'] !== this.#app.clientId) return context.json({ error: 'incorrect_client_credentials' })
      return context.json(
        body['grant_type'] === 'urn:ietf:params:oauth:grant-type:device_code' ? this.#device(body) : this.#code(body),
      )
    })
    return hono
  }

  #device(body: { [name: string]: string }): object {
    const device = this.#devices.get(body['device_code'] ?? '')
    if (!device) return { error: 'incorrect_device_code' }
    if (device.expiresAt <= this.#world.now()) return { error: 'expired_token' }
    if (device.denied) return { error: 'access_denied' }
    if (!device.user) return { error: 'authorization_pending' }
    this.#devices.delete(body['device_code'] ?? '')
    return this.#grant(device.user)
  }

  #code(body: { [name: string]: string }): object {
    const found = this.#codes.get(body['code'] ?? '')
    this.#codes.delete(body['code'] ?? '')
    if (body['client_secret'] !== this.#secret) return { error: 'incorrect_client_credentials' }
    const verifier = createHash('sha256')
      .update(body['code_verifier'] ?? '')
      .digest('base64url')
    if (!found || (found.challenge !== null && found.challenge !== verifier)) return { error: 'bad_verification_code' }
    if (found.redirect !== null && body['redirect_uri'] !== undefined && body['redirect_uri'] !== found.redirect)
      return { error: 'redirect_uri_mismatch' }
    return this.#grant(found.user)
  }

  #grant(user: User): object {
    return {
      access_token: this.#tokens.userToServer(user, this.#app),
      expires_in: 28_800,
      refresh_token: `ghr_${randomBytes(24).toString('hex')}`,
      refresh_token_expires_in: 15_897_600,
      token_type: 'bearer',
      scope: '',
    }
  }
}

async function form(request: Request): Promise<{ [name: string]: string }> {
  const text = await request.text()
  if (request.headers.get('content-type')?.includes('json')) return JSON.parse(text) as { [name: string]: string }
  return Object.fromEntries(new URLSearchParams(text))
}
