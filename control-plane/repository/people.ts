import type { RequesterFacts } from '../../policy/approval/index.ts'
import type { JobClaims } from '../auth/claims.ts'
import type { CommitPeople, GitHubRepository, Result, WorkflowRun } from '../github/index.ts'
import { githubProblem } from './refusals.ts'

/** Who had a part in what an attempt runs, as GitHub tells it. */
export type Participants = Omit<RequesterFacts, 'inherited'>

/**
 * The people of one attempt: its actors, the author of its pull request, authors and committers of the commits that the
 * event brought. All from the API, nothing from the Action. Throws ProblemError.
 */
export async function participants(
  github: GitHubRepository,
  run: WorkflowRun,
  claims: JobClaims,
  pull: number | null,
  defaultBranch: string,
  now: Date,
): Promise<Participants> {
  const [self, author, commits] = await Promise.all([
    github.self(),
    pull === null ? null : github.pull(pull),
    commitsOf(github, run, claims, pull, defaultBranch),
  ])
  const actor = run.actor ?? { id: claims.actorId, login: claims.actor, type: 'User' }
  return {
    actor,
    triggeringActor: run.triggeringActor ?? actor,
    // The API does not tell which run a workflow_run event came from; its actor is this run's actor.
    upstream: null,
    pullRequestAuthor: author === null ? null : need(author, 'who opened the pull request', now).author,
    commits: commits === null ? [] : pairs(need(commits, 'whose commits these are', now)),
    ownAccountId: need(self, 'which account is our own', now).id,
  }
}

function pairs({ people }: CommitPeople): Participants['commits'] {
  return people.map(({ role, ...account }) => ({
    author: role === 'author' ? account : null,
    committer: role === 'committer' ? account : null,
  }))
}

/**
 * The commits of an event that brings some. GitHub does not keep what a push replaced with the run, so a push brings what
 * is new since the last run of its workflow on that branch; where there is none, or it was pushed away, what the default
 * branch has not; else its head: rather too many people than too few.
 */
async function commitsOf(
  github: GitHubRepository,
  run: WorkflowRun,
  { event, sha }: JobClaims,
  pull: number | null,
  defaultBranch: string,
): Promise<Result<CommitPeople> | null> {
  if (pull !== null) return github.pullCommits(pull)
  if (!['push', 'merge_group', 'workflow_run'].includes(event)) return null
  if (run.headBranch === null) return github.commits(null, sha)
  const earlier = await github.workflowRuns(run.workflowId, run.headBranch)
  if (!earlier.ok) return earlier
  // By id, which only grows: times are whole seconds, and two pushes may fall into one.
  const before = earlier.value.find(other => other.id < run.id && other.headSha !== sha)
  for (const base of [before?.headSha, defaultBranch]) {
    if (base === undefined) continue
    const since = await github.commits(base, sha)
    if (since.ok ? since.value.people.length > 0 : since.code !== 'not_found') return since
  }
  return github.commits(null, sha)
}

/** The value of a GitHub answer. Throws ProblemError saying what could not be known. */
export function need<T>(result: Result<T>, wanted: string, now: Date): T {
  if (result.ok) return result.value
  throw githubProblem(result, wanted, now)
}
