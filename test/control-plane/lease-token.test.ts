import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { leaseTokenSeconds, signLease, verifyLease } from '../../control-plane/auth/lease-token.ts'
import { configWith, SetClock } from './settings.ts'

const config = configWith()
const lease = {
  repositoryId: 701,
  repository: 'octo/app',
  run: 'run-1',
  epoch: 3,
  instance: '[701,9001,"gate","agentctl","a.yaml"]',
  actor: 'job:9001/2',
}
const now = new SetClock().now()
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)

describe('the lease token', () => {
  it('carries what it is bound to, for an hour', async () => {
    const { token, expiresAt } = await signLease(config, lease, now)
    expect(expiresAt).toBe(later(leaseTokenSeconds).toISOString())
    expect(await verifyLease(config, token, later(3599))).toEqual({ ...lease, issuedAt: now.getTime() / 1000 })
    await expect(verifyLease(config, token, later(3601))).rejects.toMatchObject({ refusal: { status: 401 } })
  })

  it('is refused from another control plane, with another key, or changed', async () => {
    const { token } = await signLease(config, lease, now)
    const elsewhere = await signLease(configWith({ AGENTCTL_PUBLIC_URL: 'https://other.example.dev' }), lease, now)
    const otherKey = await signLease(configWith({ AGENTCTL_SESSION_KEY: 'b2'.repeat(32) }), lease, now)
    const [header, claims = '', signature] = token.split('.')
    const changed = btoa(atob(claims).replace('"epoch":3', '"epoch":4')).replaceAll('=', '')
    for (const bad of [elsewhere.token, otherKey.token, `${header}.${changed}.${signature}`, 'x', 'a.b.c']) {
      await expect(verifyLease(config, bad, now)).rejects.toMatchObject({
        refusal: { status: 401, code: 'unauthorised' },
      })
    }
  })

  it('is not any other token that the same key signs', async () => {
    const cookie = await new SignJWT({ ...lease })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(config.publicUrl)
      .setAudience('agentctl:session')
      .setIssuedAt(now)
      .setExpirationTime(later(60))
      .sign(config.sessionKey)
    await expect(verifyLease(config, cookie, now)).rejects.toMatchObject({ refusal: { status: 401 } })
  })
})
