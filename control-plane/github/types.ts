import type { Result } from './result.ts'

/** A GitHub account; identity is the number, the login only names it. `type` is `User`, `Bot`, `Organization` or what GitHub says. */
export interface Account {
  id: number
  login: string
  type: string
}

export interface RepositoryName {
  id: number
  owner: string
  name: string
}

export interface RepositoryInfo extends RepositoryName {
  isPrivate: boolean
  isArchived: boolean
  hasIssues: boolean
  defaultBranch: string
}

/** What GitHub says a person may do: the legacy `permission`, and `roleName`, which tells triage and maintain and custom roles apart. */
export interface PermissionAnswer {
  user: Account
  permission: string
  roleName: string
}

export interface Issue {
  id: number
  nodeId: string
  number: number
  /** Web address. */
  url: string
  title: string
  body: string
  state: 'open' | 'closed'
  author: Account
  closedBy: Account | null
  isPullRequest: boolean
  /** An App wrote it on its own behalf or on a person's. */
  viaApp: boolean
  labels: string[]
  createdAt: string
  updatedAt: string
}

export interface IssueComment {
  id: number
  nodeId: string
  /** Number of the issue it stands on. */
  issue: number
  url: string
  body: string
  author: Account
  viaApp: boolean
  createdAt: string
  updatedAt: string
}

/** What an issue shows now; null where its node is gone. `commentEditedAt`: null = never edited, undefined = gone or not asked. */
export interface Shown {
  issue: {
    nodeId: string
    number: number
    body: string
    state: 'open' | 'closed'
    isPullRequest: boolean
    /** null = never. */
    editedAt: string | null
  } | null
  commentEditedAt: string | null | undefined
}

export interface WorkflowRun {
  id: number
  attempt: number
  name: string
  /** `queued`, `in_progress`, `completed`, ... */
  status: string
  conclusion: string | null
  event: string
  headSha: string
  headBranch: string | null
  workflowId: number
  /** `.github/workflows/release.yml`, without `@ref`. */
  path: string
  url: string
  actor: Account | null
  triggeringActor: Account | null
  createdAt: string
  /** Start of the latest attempt. */
  startedAt: string
  pullRequests: number[]
}

export interface Job {
  id: number
  run: number
  attempt: number
  /** Display name. */
  name: string
  status: string
  conclusion: string | null
  url: string
}

/** Who wrote and committed the commits that an event brought; `cut` where GitHub shows no more than the first 250. */
export interface CommitPeople {
  people: (Account & { role: 'author' | 'committer' })[]
  cut: boolean
}

/** A file, and where it was read, `owner/name:path@sha`; `fault` says why what is there is no text. */
export type FloorFile = { source: string; text: string } | { source: string; fault: string }

export type ReactionContent = '+1' | '-1' | 'eyes' | 'rocket' | 'confused'
export type StatusState = 'pending' | 'success' | 'failure' | 'error'

/**
 * GitHub, as far as one repository's control plane needs it. Nothing is cached but tokens; nothing throws; each call is one
 * request unless said otherwise. Writes are not idempotent here: callers look before they write.
 */
export interface GitHubRepository {
  readonly repository: RepositoryName

  /** The account that our own writes come from: the App's bot, or GITHUB_TOKEN's user. Kept once known. */
  self(): Promise<Result<Account>>
  info(): Promise<Result<RepositoryInfo>>
  user(login: string): Promise<Result<Account>>
  permission(login: string): Promise<Result<PermissionAnswer>>
  /** `team` is `org/slug`; active is false for an invitation not yet taken; not_found for anyone else. */
  membership(team: string, login: string): Promise<Result<{ active: boolean }>>

  issue(number: number): Promise<Result<Issue>>
  /** Issues touched since an ISO time, pull requests left out, newest first, at most 300 (up to 3 requests). */
  issuesSince(since: string): Promise<Result<Issue[]>>
  createIssue(issue: { title: string; body: string; labels: string[] }): Promise<Result<Issue>>
  closeIssue(number: number, reason: 'completed' | 'not_planned'): Promise<Result<Issue>>
  reopenIssue(number: number): Promise<Result<Issue>>
  /** Whether the last closing of an issue was a commit's or a merge's doing, not a person's at the issue (at most 3 requests). */
  closedByCommit(number: number): Promise<Result<boolean>>

  comment(id: number): Promise<Result<IssueComment>>
  /** Comments of the whole repository created or changed since an ISO time, by id (100 a request, at most 1,000). */
  commentsSince(since: string): Promise<Result<IssueComment[]>>
  /** Comments of one issue since an ISO time, by id (100 a request, at most 1,000). */
  issueComments(issue: number, since: string): Promise<Result<IssueComment[]>>
  createComment(issue: number, body: string): Promise<Result<IssueComment>>
  updateComment(id: number, body: string): Promise<Result<IssueComment>>
  /** The same reaction by the same account twice is one reaction. */
  react(comment: number, content: ReactionContent): Promise<Result<null>>
  /** One call for all that a decision needs of an issue and, where given, of a comment on it. */
  shown(issueNodeId: string, commentNodeId: string | null): Promise<Result<Shown>>
  /** When issues and comments, by node id, were last edited: null = never. A node that is gone is absent from the answer. */
  lastEditedAt(nodeIds: string[]): Promise<Result<{ [nodeId: string]: string | null }>>

  workflowRun(id: number): Promise<Result<WorkflowRun>>
  workflowRunAttempt(id: number, attempt: number): Promise<Result<WorkflowRun>>
  /** Runs of one workflow on one branch, newest first, at most 30. */
  workflowRuns(workflowId: number, branch: string): Promise<Result<WorkflowRun[]>>
  /** `active`, or why the workflow does not run: `disabled_manually`, `disabled_inactivity`, `deleted`. */
  workflowState(workflowId: number): Promise<Result<string>>
  job(id: number): Promise<Result<Job>>
  /** All jobs of one attempt of a run (100 a request). */
  jobs(run: number, attempt: number): Promise<Result<Job[]>>
  rerunJob(job: number): Promise<Result<null>>
  rerunFailed(run: number): Promise<Result<null>>
  /** Starts a run; `run` is null on servers that do not say which. */
  dispatch(workflow: string, ref: string, inputs: { [name: string]: string }): Promise<Result<{ run: number | null }>>
  /** Commit that a branch (`refs/heads/x`) or tag (`refs/tags/x`) points at, annotated tags followed. */
  ref(name: string): Promise<Result<{ sha: string }>>
  /** Names of the inputs that `workflow_dispatch` of a workflow file declares at a ref; null where it has no such trigger. */
  dispatchInputs(path: string, ref: string): Promise<Result<string[] | null>>

  setStatus(
    sha: string,
    status: { state: StatusState; context: string; description: string; targetUrl: string },
  ): Promise<Result<null>>
  /** The floors of the repository's default branch and of the organisation's `.github`, null where there is none. */
  floorFiles(): Promise<Result<{ repository: FloorFile | null; organisation: FloorFile | null }>>
  pull(number: number): Promise<Result<{ author: Account; headSha: string }>>
  pullCommits(number: number): Promise<Result<CommitPeople>>
  /** People of the commits in `base...head`, or of `head` alone where base is null or all zeros. */
  commits(base: string | null, head: string): Promise<Result<CommitPeople>>
}

/** What the client needs of the control plane's configuration (09). Exactly one of `app` and `token` is set. */
export interface GitHubSettings {
  /** GITHUB_API_URL without a final slash. */
  apiUrl: string
  /** GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY, PKCS#1 or PKCS#8 PEM. */
  app: { id: string; privateKey: string } | null
  /** GITHUB_TOKEN. */
  token: string | null
}
