import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { problem } from '../problem.ts'
import type { LeaseClaims } from './claims.ts'

/** A lease token lives an hour; one older than 20 minutes is renewed with the next receipt. */
export const leaseTokenSeconds = 3600
export const leaseTokenRenewSeconds = 1200

const audience = 'agentctl:lease'
const header = { alg: 'HS256', typ: 'agentctl-lease+jwt' }

const claimsSchema = z.object({
  iat: z.int(),
  repositoryId: z.int(),
  repository: z.string(),
  run: z.string(),
  epoch: z.int(),
  instance: z.string(),
  actor: z.string(),
})

/** Signs what a lease token is bound to; answers the token and when it ends. */
export async function signLease(
  config: Config,
  lease: Omit<LeaseClaims, 'issuedAt'>,
  now: Date,
): Promise<{ token: string; expiresAt: string }> {
  const issuedAt = Math.floor(now.getTime() / 1000)
  const expires = issuedAt + leaseTokenSeconds
  const token = await new SignJWT({ ...lease })
    .setProtectedHeader(header)
    .setIssuer(config.publicUrl)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expires)
    .sign(config.sessionKey)
  return { token, expiresAt: new Date(expires * 1000).toISOString() }
}

/** What a lease token is bound to. Throws ProblemError 401 where it is not ours, changed or expired. */
export async function verifyLease(config: Config, token: string, now: Date): Promise<LeaseClaims> {
  try {
    const { payload } = await jwtVerify(token, config.sessionKey, {
      issuer: config.publicUrl,
      audience,
      algorithms: [header.alg],
      typ: header.typ,
      currentDate: now,
      requiredClaims: ['exp', 'iat'],
    })
    const { iat: issuedAt, ...lease } = claimsSchema.parse(payload)
    return { ...lease, issuedAt }
  } catch {
    throw problem(401, 'unauthorised', 'the lease token is not valid or has expired: attach again')
  }
}
