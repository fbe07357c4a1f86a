import type { Context } from 'hono'
import type { Dependencies, LimitKind } from '../dependencies.ts'
import type { RepositoryName } from '../directory/directory.ts'
import { type ProblemError, problem, unwrap } from '../problem.ts'
import type { RepositoryHandle } from '../repository/handle.ts'
import type { JobClaims, LeaseClaims, PersonClaims } from './claims.ts'
import { verifyLease } from './lease-token.ts'
import { jobVerifier } from './oidc.ts'
import { personIdentifier } from './user-token.ts'

/** A repository that the caller was let into. */
export interface Entered {
  handle: RepositoryHandle
  repository: RepositoryName
}

/**
 * Who calls, proved and within their rate; every method throws a ProblemError otherwise. What a caller may not see is
 * answered as what is not there.
 */
export interface Callers {
  /** The Action, by GitHub's OIDC token. */
  job(c: Context): Promise<JobClaims>
  /** The Action, by the lease token of the run that the path names. */
  lease(c: Context): Promise<{ handle: RepositoryHandle; lease: LeaseClaims }>
  /** A person, by a user token. `fresh` asks GitHub now. */
  person(c: Context, fresh: boolean): Promise<PersonClaims>
  /** A person who may read the repository that the path names. */
  reader(c: Context): Promise<Entered & { person: PersonClaims }>
  /** The same, everything about them read from GitHub at this moment: for whoever changes something. */
  changer(c: Context): Promise<Entered & { person: PersonClaims }>
}

/** The callers of one app. */
export function callersOf(dependencies: Dependencies): Callers {
  const { clock, config, directory, limiter, repositories } = dependencies
  const verifyJob = jobVerifier(dependencies)
  const identify = personIdentifier(dependencies)

  async function limit(kind: LimitKind, key: string): Promise<void> {
    if (await limiter.allow(kind, key)) return
    throw problem(429, 'rate_limited', 'too many requests from this caller: wait a minute', 60)
  }

  // Only what costs a question to GitHub is counted by address: people behind one proxy share theirs.
  const limitAddress = (c: Context) => limit('anonymous', dependencies.addressOf(c.req.raw, c.env))

  async function person(c: Context, fresh: boolean): Promise<PersonClaims> {
    const found = await identify(bearer(c), fresh, () => limitAddress(c))
    await limit('person', String(found.id))
    return found
  }

  async function enter(c: Context, fresh: boolean): Promise<Entered & { person: PersonClaims }> {
    const found = await person(c, fresh)
    const { owner = '', repo = '' } = c.req.param()
    const repository = await directory.find(owner, repo)
    if (repository === null) throw absent()
    const handle = repositories.get(repository.id)
    const may = await handle.access(found, 'read', fresh)
    if (!may.ok && may.refusal.status === 403) throw absent()
    unwrap(may)
    return { handle, repository, person: found }
  }

  return {
    async job(c) {
      const claims = await verifyJob(bearer(c))
      await limit('job', `repository ${claims.repositoryId}`)
      return claims
    },
    async lease(c) {
      const token = bearer(c)
      if (token.startsWith('gh')) throw problem(403, 'lease_required', 'only the run that holds the lease may do this')
      const lease = await verifyLease(config, token, clock.now())
      await limit('job', lease.run)
      const { owner = '', repo = '', run = lease.run } = c.req.param()
      if (`${owner}/${repo}`.toLowerCase() !== lease.repository.toLowerCase() || run !== lease.run) throw absent()
      return { handle: repositories.get(lease.repositoryId), lease }
    },
    person,
    reader: c => enter(c, false),
    changer: c => enter(c, true),
  }
}

/** The one answer to whatever does not exist for this caller. */
export const absent = (): ProblemError =>
  problem(404, 'not_found', 'there is nothing here that this caller may see: check the address and the sign-in')

/** The bearer token of a request; a job's token where a person is wanted fails as any other wrong token. */
function bearer(c: Context): string {
  const header = c.req.header('authorization') ?? ''
  const [scheme = '', token = '', ...rest] = header.split(' ')
  if (scheme.toLowerCase() !== 'bearer' || token === '' || rest.length > 0) {
    throw problem(401, 'unauthorised', 'send Authorization: Bearer TOKEN')
  }
  return token
}
