import type { Instance } from '../../ledger/port.ts'
import type { AttachRequest } from '../../ledger/wire.ts'
import { canonical, digest } from '../../policy/canonical.ts'
import type { JobClaims } from '../auth/claims.ts'
import type { GitHubRepository, RepositoryInfo } from '../github/index.ts'
import { problem } from '../problem.ts'
import { type RepositoryFloor, readFloor } from './floor.ts'
import { need, type Participants, participants } from './people.ts'

/** All that an attach needs to know from GitHub, read before anything is decided. */
export interface AttachFacts {
  instance: Instance
  floor: RepositoryFloor
  participants: Participants
}

/** Proves that GitHub lets us into the repository which the token names. Throws ProblemError. */
export async function repositoryInfo(github: GitHubRepository, claims: JobClaims, now: Date): Promise<RepositoryInfo> {
  const info = await github.info()
  if (!info.ok && ['not_found', 'forbidden', 'unauthorised'].includes(info.code)) {
    const name = `${claims.owner}/${claims.repository}`
    throw problem(
      403,
      'app_not_installed',
      `the control plane's App may not read ${name}: install it on this repository`,
    )
  }
  const value = need(info, 'which repository this is', now)
  if (value.id === claims.repositoryId) return value
  throw problem(
    403,
    'repository_mismatch',
    `the token is of repository ${claims.repositoryId}, GitHub has ${value.id} under its name`,
  )
}

/** Gathers the facts of an attach. Throws ProblemError where GitHub does not tell one of them. */
export async function attachFacts(
  github: GitHubRepository,
  info: RepositoryInfo,
  claims: JobClaims,
  request: AttachRequest,
  now: Date,
): Promise<AttachFacts> {
  const [job, attempt, floor] = await Promise.all([
    jobName(github, claims, request, now),
    github.workflowRunAttempt(claims.workflowRunId, claims.attempt),
    readFloor(github, now),
  ])
  const run = need(attempt, 'who started this attempt', now)
  const pull = pullRequestOf(claims.ref) ?? run.pullRequests[0] ?? null
  const document = workspacePath(request.document)
  const instance: Instance = {
    key: canonical([claims.repositoryId, claims.workflowRunId, job, request.step, document]),
    repositoryId: claims.repositoryId,
    workflowRunId: claims.workflowRunId,
    attempt: claims.attempt,
    job,
    jobId: request.jobId,
    step: request.step,
    document,
    workflowRef: claims.workflowRef,
    ref: claims.ref,
    sha: claims.sha,
    event: claims.event,
    actorId: claims.actorId,
    actor: claims.actor,
    isPublic: !info.isPrivate,
    pullRequest: pull,
  }
  return { instance, floor, participants: await participants(github, run, claims, pull, info.defaultBranch, now) }
}

/**
 * The job's display name, which tells matrix siblings and two calls of one reusable workflow apart. Where several jobs of
 * the attempt have it (a `name` of their own, or one cut at 100 characters), or the server has no job id, a digest of
 * GITHUB_JOB and the matrix follows; what that cannot tell apart is refused, or one would take the other's run.
 */
async function jobName(
  github: GitHubRepository,
  claims: JobClaims,
  request: AttachRequest,
  now: Date,
): Promise<string> {
  if (request.jobId === null) return `${request.job} ${request.matrixDigest.slice(0, 12)}`
  const mismatch = `job ${request.jobId} is none of this attempt: leave the input job-id at its default`
  const found = await github.jobs(claims.workflowRunId, claims.attempt)
  if (!found.ok && found.code === 'not_found') throw problem(403, 'job_mismatch', mismatch)
  const jobs = need(found, 'which job this is', now)
  const own = jobs.find(({ id }) => id === request.jobId)
  if (own === undefined) throw problem(403, 'job_mismatch', mismatch)
  if (jobs.filter(({ name }) => name === own.name).length === 1) return own.name
  if (request.matrixDigest !== digest(null)) {
    return `${own.name} ${digest([request.job, request.matrixDigest]).slice(0, 12)}`
  }
  const remedy = 'give each a `name` of its own, or agentctl cannot tell their runs apart'
  throw problem(409, 'conflict', `several jobs of this workflow run are named ${own.name}: ${remedy}`)
}

/** Number of the pull request whose merge a ref is, null for any other ref. */
function pullRequestOf(ref: string): number | null {
  const [, number] = /^refs\/pull\/(\d+)\//.exec(ref) ?? []
  return number === undefined ? null : Number(number)
}

/** The document as one path has one spelling: `./a//b.yaml` is `a/b.yaml`. Throws ProblemError outside the workspace. */
function workspacePath(path: string): string {
  const parts = path.split('/').filter(part => part !== '' && part !== '.')
  if (!path.startsWith('/') && !parts.includes('..') && parts.length > 0) return parts.join('/')
  throw problem(422, 'invalid', `document: ${path} is not a path below the workspace`)
}
