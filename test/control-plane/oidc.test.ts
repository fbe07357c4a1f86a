import { generateKeyPair } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { jobVerifier, type VerifyJob } from '../../control-plane/auth/oidc.ts'
import type { ProblemError } from '../../control-plane/problem.ts'
import { audience, type Issuer, seconds, startIssuer } from './issuer.ts'
import { configWith, SetClock } from './settings.ts'

let clock: SetClock
let issuer: Issuer
let verify: VerifyJob

beforeEach(async () => {
  clock = new SetClock()
  issuer = await startIssuer(clock.now)
  verify = jobVerifier({ config: configWith({ OIDC_ISSUER: issuer.url }), clock, fetch })
})
afterEach(() => issuer.close())

const refusalOf = (token: string) =>
  verify(token).then(
    () => null,
    (error: ProblemError) => error.refusal,
  )

describe('the OIDC token of a job', () => {
  it('tells the job', async () => {
    const claims = await verify(await issuer.token({ jti: 'one', exp: seconds(clock.now()) + 200 }))
    expect(claims).toEqual({
      jti: 'one',
      expires: seconds(clock.now()) + 200,
      repositoryId: 701,
      owner: 'octo',
      repository: 'app',
      isPublic: false,
      workflowRunId: 9001,
      attempt: 2,
      workflowRef: 'octo/app/.github/workflows/release.yml@refs/heads/main',
      ref: 'refs/heads/main',
      sha: 'a'.repeat(40),
      event: 'push',
      actorId: 41,
      actor: 'alice',
    })
  })

  const bad: [what: string, claims: (now: number) => { [claim: string]: unknown }, code: string][] = [
    ['expired', now => ({ iat: now - 290, exp: now }), 'token_expired'],
    ['older than five minutes though not expired', now => ({ iat: now - 301, exp: now + 3600 }), 'token_expired'],
    ['from the future', now => ({ iat: now + 60 }), 'token_refused'],
    ['not yet valid', now => ({ nbf: now + 60 }), 'token_refused'],
    ['for another audience', () => ({ aud: 'https://other.example.dev' }), 'token_refused'],
    ['for nobody', () => ({ aud: undefined }), 'token_refused'],
    ['of another issuer', () => ({ iss: 'https://token.actions.githubusercontent.com' }), 'token_refused'],
    ['without an expiry', () => ({ exp: undefined }), 'token_refused'],
    ['without a jti', () => ({ jti: undefined }), 'token_refused'],
    ['without an issue time', () => ({ iat: undefined }), 'token_refused'],
    ['without a repository id', () => ({ repository_id: undefined }), 'token_refused'],
    ['with a repository id of zero', () => ({ repository_id: '0' }), 'token_refused'],
    ['with a run id that is no number', () => ({ run_id: '1e3' }), 'token_refused'],
    ['with an attempt of zero', () => ({ run_attempt: '0' }), 'token_refused'],
    ['with a repository name of three parts', () => ({ repository: 'a/b/c' }), 'token_refused'],
  ]
  it.each(bad)('is refused when %s', async (_what, claims, code) => {
    expect(await refusalOf(await issuer.token(claims(seconds(clock.now()))))).toMatchObject({ status: 401, code })
  })

  it('is taken from a clock that is a little ahead, and at its full age', async () => {
    await verify(await issuer.token({ iat: seconds(clock.now()) + 8 }))
    await verify(await issuer.token({ iat: seconds(clock.now()) - 300, exp: seconds(clock.now()) + 1 }))
  })

  it('names the audience that it wants', async () => {
    const refusal = await refusalOf(await issuer.token({ aud: 'https://other.example.dev' }))
    expect(refusal?.message).toContain(audience)
  })

  it('is refused when signed with another key, by HMAC, or not at all', async () => {
    const other = await generateKeyPair('RS256')
    const byOther = await issuer.token({}, { key: other.privateKey })
    const hmac = await crypto.subtle.importKey('raw', new Uint8Array(32), { name: 'HMAC', hash: 'SHA-256' }, true, [
      'sign',
    ])
    const byHmac = await issuer.token({}, { key: hmac, algorithm: 'HS256' })
    const [, claims] = byOther.split('.')
    const unsigned = `${btoa('{"alg":"none"}')}.${claims}.`
    for (const token of [byOther, byHmac, unsigned, 'a.b.c', 'x']) {
      expect(await refusalOf(token)).toMatchObject({ status: 401, code: 'token_refused' })
    }
  })

  it('costs one reading of the issuer for many tokens', async () => {
    for (let count = 0; count < 5; count++) await verify(await issuer.token())
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys'])
  })

  it.each([
    ['the issuer', /./],
    ['its key set', /keys/],
  ])('is nobody’s fault when %s is away: unavailable, not refused', async (_what, paths) => {
    issuer.fail = { status: 503, paths }
    expect(await refusalOf(await issuer.token())).toMatchObject({ status: 503, code: 'issuer_unavailable' })
    issuer.fail = null
    expect(await refusalOf(await issuer.token())).toBeNull()
  })
})
