import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'
import type { Clock } from '../../policy/ports.ts'
import type { Config } from '../config.ts'
import { ProblemError, problem } from '../problem.ts'
import type { JobClaims } from './claims.ts'

/** Verifies the OIDC token of a GitHub job. Throws ProblemError: 401 for a bad token, 503 where the issuer is away. */
export type VerifyJob = (token: string) => Promise<JobClaims>

const number = z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(1))

const claimsSchema = z.object({
  jti: z.string().min(1).max(256),
  exp: z.int(),
  repository_id: number,
  repository: z.string().regex(/^[^/\s]+\/[^/\s]+$/),
  repository_visibility: z.string().optional(),
  run_id: number,
  run_attempt: number,
  workflow_ref: z.string().min(1),
  ref: z.string(),
  sha: z.string().min(1),
  event_name: z.string().min(1),
  actor_id: number,
  actor: z.string().min(1),
})

const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.url() })

const maxAgeSeconds = 300
/** GitHub's clock may be this far ahead of ours; a token is never good for longer because of it. */
const aheadSeconds = 10
const discoveryTtlMs = 3_600_000
const issuerTimeoutMs = 10_000

/** A verifier for one issuer and audience; issuer metadata and keys are kept for an hour. */
export function jobVerifier({
  config,
  clock,
  fetch,
}: {
  config: Config
  clock: Clock
  fetch: typeof globalThis.fetch
}) {
  const { issuer, audience } = config.oidc
  let keys: { get: JWTVerifyGetKey; until: number } | null = null

  async function keySet(): Promise<JWTVerifyGetKey> {
    const now = clock.now().getTime()
    if (keys !== null && now < keys.until) return keys.get
    const uri = await discover(issuer, fetch)
    const get = createRemoteJWKSet(uri, { [customFetch]: fetch, timeoutDuration: issuerTimeoutMs })
    keys = { get, until: now + discoveryTtlMs }
    return get
  }

  const verify: VerifyJob = async token => {
    const get = await keySet()
    try {
      const { payload } = await jwtVerify(token, get, {
        issuer,
        audience,
        algorithms: ['RS256', 'ES256'],
        currentDate: clock.now(),
        clockTolerance: aheadSeconds,
        maxTokenAge: maxAgeSeconds,
        requiredClaims: ['exp', 'iat', 'jti'],
      })
      const now = clock.now().getTime() / 1000
      if (now - (payload.iat ?? 0) > maxAgeSeconds || now >= (payload.exp ?? 0)) throw tooOld()
      return jobClaims(payload)
    } catch (error) {
      throw tokenProblem(error, audience)
    }
  }
  return verify
}

async function discover(issuer: string, fetch: typeof globalThis.fetch): Promise<URL> {
  try {
    const response = await fetch(`${issuer}/.well-known/openid-configuration`, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(issuerTimeoutMs),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const document = discoverySchema.parse(await response.json())
    if (document.issuer !== issuer) throw new Error(`it calls itself ${document.issuer}`)
    const uri = new URL(document.jwks_uri)
    if (uri.origin !== new URL(issuer).origin) throw new Error(`its keys are at another origin, ${uri.origin}`)
    return uri
  } catch (error) {
    throw problem(503, 'issuer_unavailable', `the OIDC issuer ${issuer} did not answer: ${textOf(error)}; try again`, 5)
  }
}

function jobClaims(payload: object): JobClaims {
  const claims = claimsSchema.parse(payload)
  const [owner = '', repository = ''] = claims.repository.split('/')
  return {
    jti: claims.jti,
    expires: claims.exp,
    repositoryId: claims.repository_id,
    owner,
    repository,
    isPublic: claims.repository_visibility === 'public',
    workflowRunId: claims.run_id,
    attempt: claims.run_attempt,
    workflowRef: claims.workflow_ref,
    ref: claims.ref,
    sha: claims.sha,
    event: claims.event_name,
    actorId: claims.actor_id,
    actor: claims.actor,
  }
}

const tooOld = (): ProblemError =>
  problem(401, 'token_expired', 'the OIDC token is older than 5 minutes or expired: ask GitHub for a new one')

function tokenProblem(error: unknown, audience: string): Error {
  if (error instanceof ProblemError) return error
  if (error instanceof errors.JWTExpired) return tooOld()
  if (error instanceof errors.JWTClaimValidationFailed) {
    const remedy = error.claim === 'aud' ? `: ask for one with audience ${audience}` : ''
    return problem(401, 'token_refused', `the OIDC token's claim ${error.claim} is not as required${remedy}`)
  }
  if (error instanceof z.ZodError) {
    const names = error.issues.map(issue => issue.path.join('.')).join(', ')
    return problem(401, 'token_refused', `the OIDC token is not one of a GitHub Actions job: ${names}`)
  }
  if (isAboutKeys(error)) {
    return problem(
      503,
      'issuer_unavailable',
      `the OIDC issuer's keys could not be read: ${textOf(error)}; try again`,
      5,
    )
  }
  return problem(401, 'token_refused', 'the OIDC token is not signed by the issuer that this control plane trusts')
}

/** Faults of reading the issuer's keys, which say nothing of the token. */
function isAboutKeys(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return ['ERR_JOSE_GENERIC', errors.JWKSTimeout.code, errors.JWKSInvalid.code].includes(error.code)
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown fault')
