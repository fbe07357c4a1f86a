import type { RestEndpointMethodTypes as Methods } from '@octokit/rest'
import type { Account, CommitPeople, Issue, IssueComment, Job, WorkflowRun } from './types.ts'

/** From GitHub's answers to our own shapes. What is missing where it must not be throws, and the call fails by name. */
type Data<Group extends keyof Methods, Name extends keyof Methods[Group]> = Methods[Group][Name] extends {
  response: { data: infer Value }
}
  ? Value
  : never
type Id = number | bigint

/** GitHub's stand-in for accounts that were deleted. */
const ghost: Account = { id: 10137, login: 'ghost', type: 'User' }

export function readAccount(user: { id: Id; login: string; type?: string } | null | undefined): Account {
  if (user === null || user === undefined) return ghost
  return { id: whole(user.id), login: user.login, type: user.type ?? '' }
}

export function readIssue(issue: Data<'issues', 'get'>): Issue {
  return {
    id: whole(issue.id),
    nodeId: issue.node_id,
    number: whole(issue.number),
    url: issue.html_url,
    title: issue.title,
    body: issue.body ?? '',
    state: issue.state === 'open' ? 'open' : 'closed',
    author: readAccount(issue.user),
    closedBy: issue.closed_by ? readAccount(issue.closed_by) : null,
    isPullRequest: issue.pull_request !== undefined && issue.pull_request !== null,
    viaApp: issue.performed_via_github_app !== undefined && issue.performed_via_github_app !== null,
    labels: issue.labels.map(label => (typeof label === 'string' ? label : (label.name ?? ''))),
    createdAt: time(issue.created_at),
    updatedAt: time(issue.updated_at),
  }
}

export function readComment(comment: Data<'issues', 'getComment'>): IssueComment {
  return {
    id: whole(comment.id),
    nodeId: comment.node_id,
    issue: whole(Number(comment.issue_url.split('/').at(-1))),
    url: comment.html_url,
    body: comment.body ?? '',
    author: readAccount(comment.user),
    viaApp: comment.performed_via_github_app !== undefined && comment.performed_via_github_app !== null,
    createdAt: time(comment.created_at),
    updatedAt: time(comment.updated_at),
  }
}

export function readRun(run: Data<'actions', 'getWorkflowRun'>): WorkflowRun {
  return {
    id: whole(run.id),
    attempt: whole(run.run_attempt ?? 1),
    name: run.name ?? '',
    status: run.status ?? '',
    conclusion: run.conclusion,
    event: run.event,
    headSha: run.head_sha,
    headBranch: run.head_branch,
    workflowId: whole(run.workflow_id),
    path: run.path.split('@')[0] ?? '',
    url: run.html_url,
    actor: run.actor ? readAccount(run.actor) : null,
    triggeringActor: run.triggering_actor ? readAccount(run.triggering_actor) : null,
    createdAt: time(run.created_at),
    startedAt: time(run.run_started_at ?? run.created_at),
    pullRequests: (run.pull_requests ?? []).map(pull => pull.number),
  }
}

export function readJob(job: Data<'actions', 'getJobForWorkflowRun'>): Job {
  return {
    id: whole(job.id),
    run: whole(job.run_id),
    attempt: whole(job.run_attempt ?? 1),
    name: job.name,
    status: job.status,
    conclusion: job.conclusion,
    url: job.html_url ?? '',
  }
}

/** Accounts behind the commits of one answer; a commit whose address belongs to no account names nobody. */
export function readPeople(commits: Data<'repos', 'getCommit'>[], cut: boolean): CommitPeople {
  const people = commits.flatMap(commit =>
    (['author', 'committer'] as const).flatMap(role => {
      const user = commit[role]
      return user && 'id' in user && user.id !== undefined && user.login !== undefined
        ? [{ id: whole(user.id), login: user.login, type: user.type ?? '', role }]
        : []
    }),
  )
  return { people, cut }
}

function whole(given: Id): number {
  const value = Number(given)
  if (!Number.isSafeInteger(value)) throw new Error(`expected a whole number, GitHub sent ${given}`)
  return value
}

function time(value: string): string {
  return new Date(value).toISOString()
}
