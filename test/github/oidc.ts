import { randomBytes, randomUUID, sign } from 'node:crypto'
import { Hono } from 'hono'
import type { Faults } from './faults.ts'
import { newRsaPair, type RsaPair, sharedRsaPair } from './keys.ts'
import { jobWorkflowRef, workflowRef } from './runner/environment.ts'
import type { JobAttempt, WorkflowRun } from './runner/state.ts'
import type { World } from './world.ts'

const PATH = '/_services/token'
const LIFETIME_SECONDS = 300

/** The issuer of job tokens, at GHES's path: discovery, keys, and each job's own request address. */
export class Oidc {
  readonly #world: World
  readonly #faults: Faults
  readonly #edition: 'github.com' | 'ghes'
  readonly #jobs = new Map<string, { run: WorkflowRun; job: JobAttempt }>()
  #keys = [signingKey(sharedRsaPair('oidc'))]

  constructor(world: World, faults: Faults, edition: 'github.com' | 'ghes') {
    this.#edition = edition
    this.#world = world
    this.#faults = faults
  }

  get issuer(): string {
    return `${this.#world.serverUrl}${PATH}`
  }

  /** Opens the request address of a job with `id-token: write`. */
  open(run: WorkflowRun, job: JobAttempt): { url: string; token: string } {
    const token = randomBytes(32).toString('base64url')
    this.#jobs.set(token, { run, job })
    return { url: `${this.issuer}/jobs/${job.id}?api-version=2.0`, token }
  }

  close(token: string): void {
    this.#jobs.delete(token)
  }

  /** From now on signs with a new key; the old one stays published. */
  rotate(): void {
    this.#keys = [signingKey(newRsaPair()), ...this.#keys]
  }

  /** A signed token with these claims changed or added: to test what must be refused. */
  sign(claims: { [name: string]: unknown }): string {
    const [key] = this.#keys
    if (!key) throw new Error('unreachable: there is always a key')
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const head = `${part({ typ: 'JWT', alg: 'RS256', kid: key.kid, x5t: key.kid })}.${part(claims)}`
    return `${head}.${sign('RSA-SHA256', Buffer.from(head), key.privateKey).toString('base64url')}`
  }

  /** The claims that GitHub puts into this job's token. */
  claims(run: WorkflowRun, job: JobAttempt, audience: string): { [name: string]: unknown } {
    const { repository } = run
    const now = Math.floor(this.#world.now().getTime() / 1000)
    const full = `${repository.owner.login}/${repository.name}`
    const { environment } = job.definition
    const subject =
      environment !== undefined
        ? `environment:${environment}`
        : run.event === 'pull_request'
          ? 'pull_request'
          : `ref:${run.ref}`
    return {
      jti: randomUUID(),
      sub: `repo:${full}:${subject}`,
      aud: audience,
      ref: run.ref,
      sha: run.sha,
      repository: full,
      repository_owner: repository.owner.login,
      repository_owner_id: String(repository.owner.id),
      run_id: String(run.id),
      run_number: String(run.number),
      run_attempt: String(job.attempt),
      repository_visibility: repository.private ? 'private' : 'public',
      repository_id: String(repository.id),
      actor_id: String(run.actor.id),
      actor: run.actor.login,
      workflow: run.workflow.name,
      head_ref: run.headRef,
      base_ref: run.baseRef,
      event_name: run.event,
      ref_protected: 'false',
      ref_type: run.ref.startsWith('refs/tags/') ? 'tag' : 'branch',
      workflow_ref: workflowRef(run),
      workflow_sha: run.sha,
      job_workflow_ref: jobWorkflowRef(run, job),
      job_workflow_sha: run.sha,
      runner_environment: 'self-hosted',
      ...(this.#edition === 'github.com' && { check_run_id: String(job.id) }),
      ...(environment !== undefined && { environment }),
      iss: this.issuer,
      nbf: now - 5,
      exp: now + LIFETIME_SECONDS,
      iat: now,
    }
  }

  routes(): Hono {
    const hono = new Hono()
    hono.get(`${PATH}/.well-known/openid-configuration`, context =>
      context.json({
        issuer: this.issuer,
        jwks_uri: `${this.issuer}/.well-known/jwks`,
        subject_types_supported: ['public', 'pairwise'],
        response_types_supported: ['id_token'],
        claims_supported: [
          'sub',
          'aud',
          'exp',
          'iat',
          'iss',
          'jti',
          'nbf',
          'ref',
          'repository',
          'run_id',
          'run_attempt',
          'sha',
          'workflow_ref',
        ],
        id_token_signing_alg_values_supported: ['RS256'],
        scopes_supported: ['openid'],
      }),
    )
    hono.get(`${PATH}/.well-known/jwks`, context => context.json({ keys: this.#keys.map(key => key.jwk) }))
    hono.get(`${PATH}/jobs/:job`, async context => {
      const fault = this.#faults.take({
        route: 'oidc',
        method: 'GET',
        path: context.req.path,
        query: context.req.query(),
        body: undefined,
        caller: `job ${context.req.param('job')}`,
      })
      if (fault?.delayMs !== undefined) await new Promise(resolve => setTimeout(resolve, fault.delayMs))
      if (fault?.status !== undefined)
        return context.json({ message: fault.message ?? 'programmed failure' }, fault.status as 500)
      const token = context.req.header('authorization')?.replace(/^bearer /i, '') ?? ''
      const found = this.#jobs.get(token)
      if (!found || String(found.job.id) !== context.req.param('job'))
        return context.json({ message: 'Unauthorized' }, 401)
      const audience = context.req.query('audience') ?? `${this.#world.serverUrl}/${found.run.repository.owner.login}`
      const value = this.sign(this.claims(found.run, found.job, audience))
      return context.json({ count: value.length, value })
    })
    return hono
  }
}

function signingKey({ privateKey, publicKey }: RsaPair) {
  const kid = randomUUID().replaceAll('-', '').toUpperCase()
  return {
    kid,
    privateKey,
    jwk: { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid, x5t: kid },
  }
}
