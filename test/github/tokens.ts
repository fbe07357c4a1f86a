import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { badCredentials, expiredJwt, futureJwt, lateJwt, undecodableJwt } from './errors.ts'
import type { AppRecord, Installation, Permissions, User } from './model.ts'
import type { World } from './world.ts'

/** Who calls, as the token says. `user` and `via` are what it writes under. */
export type Caller =
  | { kind: 'anonymous' }
  | { kind: 'app'; app: AppRecord }
  /** An installation token, narrowed to these repositories and permissions. */
  | {
      kind: 'installation'
      app: AppRecord
      user: User
      installation: Installation
      repositories: Set<number> | 'all'
      permissions: Permissions
    }
  /** A job's GITHUB_TOKEN. */
  | { kind: 'job'; app: AppRecord; user: User; repository: number; permissions: Permissions; job: number; run: number }
  /** A personal token (`app` null) or a user-to-server token of our App. */
  | { kind: 'user'; user: User; app: AppRecord | null }
  /** Basic authentication with client id and secret. */
  | { kind: 'client'; app: AppRecord }

interface Issued {
  caller: Caller
  expiresAt: Date | null
  issuedAt: Date
}

/** Issues tokens in GitHub's shapes and finds their callers again. */
export class TokenIssuer {
  readonly #world: World
  readonly #issued = new Map<string, Issued>()
  readonly #apps: { app: AppRecord; key: KeyObject; secret: string }[] = []

  constructor(world: World) {
    this.#world = world
  }

  registerApp(app: AppRecord, publicKey: string, clientSecret: string): void {
    this.#apps.push({ app, key: createPublicKey(publicKey), secret: clientSecret })
  }

  /** A classic personal access token with the scope `repo`. */
  pat(user: User): string {
    return this.issue('ghp_', { kind: 'user', user, app: null }, null)
  }

  /** A user-to-server token of our App, as its device or web flow yields. Lives 8 hours. */
  userToServer(user: User, app: AppRecord = this.ownApp()): string {
    return this.issue('ghu_', { kind: 'user', user, app }, 8 * 3600)
  }

  ownApp(): AppRecord {
    const first = this.#apps[0]
    if (!first) throw new Error('no App is registered')
    return first.app
  }

  issue(prefix: 'ghp_' | 'ghu_' | 'ghs_', caller: Caller, seconds: number | null): string {
    const token = prefix + randomBytes(24).toString('base64url').replaceAll(/[-_]/g, 'x').padEnd(36, '0')
    const now = this.#world.now()
    this.#issued.set(token, {
      caller,
      issuedAt: now,
      expiresAt: seconds === null ? null : new Date(now.getTime() + seconds * 1000),
    })
    return token
  }

  revoke(token: string): void {
    this.#issued.delete(token)
  }

  /** Ends every token of an installation. */
  revokeInstallation(id: number): void {
    for (const [token, { caller }] of this.#issued) {
      if (caller.kind === 'installation' && caller.installation.id === id) this.#issued.delete(token)
    }
  }

  /** Ends the token by which this very caller came. */
  revokeCaller(caller: Caller): void {
    for (const [token, issued] of this.#issued) if (issued.caller === caller) this.#issued.delete(token)
  }

  /** The live token's caller and times, or null: for POST /applications/{client_id}/token. */
  inspect(token: string): Issued | null {
    const found = this.#issued.get(token)
    if (!found || (found.expiresAt && found.expiresAt <= this.#world.now())) return null
    return found
  }

  /** The caller behind an Authorization header. Throws the 401 that GitHub answers. */
  authenticate(header: string | undefined): Caller {
    if (header === undefined || header === '') return { kind: 'anonymous' }
    const [scheme = '', value = ''] = header.split(' ')
    if (/^basic$/i.test(scheme)) return this.#client(value)
    if (!/^(bearer|token)$/i.test(scheme)) throw badCredentials()
    if (value.split('.').length === 3) return this.#jwt(value)
    const found = this.inspect(value)
    if (!found) throw badCredentials()
    return found.caller
  }

  #client(value: string): Caller {
    const [id, secret] = Buffer.from(value, 'base64').toString().split(':')
    const known = this.#apps.find(({ app }) => app.clientId === id)
    if (!known || known.secret !== secret) throw badCredentials()
    return { kind: 'client', app: known.app }
  }

  /** RS256 by the App's key, `iss` its id or client id, at most 10 minutes. */
  #jwt(token: string): Caller {
    const [header = '', claims = '', signature = ''] = token.split('.')
    let iss: unknown
    let iat: unknown
    let exp: unknown
    try {
      if (JSON.parse(Buffer.from(header, 'base64url').toString()).alg !== 'RS256') throw undecodableJwt()
      ;({ iss, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()))
    } catch {
      throw undecodableJwt()
    }
    const known = this.#apps.find(({ app }) => String(app.id) === String(iss) || app.clientId === iss)
    if (
      !known ||
      !verify('RSA-SHA256', Buffer.from(`${header}.${claims}`), known.key, Buffer.from(signature, 'base64url'))
    ) {
      throw undecodableJwt()
    }
    const now = this.#world.now().getTime() / 1000
    if (typeof exp !== 'number' || exp <= now) throw expiredJwt()
    if (typeof iat !== 'number' || iat > now + 60) throw futureJwt()
    if (exp > now + 660) throw lateJwt()
    return { kind: 'app', app: known.app }
  }
}

export const describeCaller = (caller: Caller): string => {
  if (caller.kind === 'user') return `user ${caller.user.login}`
  if (caller.kind === 'job') return `job ${caller.job}`
  return caller.kind
}
