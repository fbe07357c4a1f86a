import type { Clock } from '../../policy/ports.ts'
import type { DeliveryLog } from './deliveries.ts'
import type { Faults } from './faults.ts'
import type { Installations } from './installations.ts'
import type { LimitSettings, RateLimits } from './limits.ts'
import type { Login } from './login.ts'
import type { AppRecord, Comment, Issue, User } from './model.ts'
import type { Oidc } from './oidc.ts'
import type { Violation } from './openapi/validator.ts'
import type { People, Teams } from './people.ts'
import type { Repositories } from './repositories.ts'
import type { Repository } from './repository.ts'
import type { RequestLog } from './requests.ts'
import type { RunHandle } from './runner/handle.ts'
import type { StartRun } from './runner/new-run.ts'
import type { Runs } from './runner/runs.ts'
import type { TokenIssuer } from './tokens.ts'

export interface GitHubOptions {
  clock?: Clock
  /** Directory of the action under test (its action.yml names the entry). Default: the root of this repository. */
  action?: string
  /** Directories of further actions by `owner/name@ref`, for workflows that use them beside agentctl. */
  actions?: { readonly [uses: string]: string }
  /** Node binary that runs the action. Default: the one that runs the double. */
  node?: string
  /** Permissions of our App's installations. Default: those that the README asks for. */
  appPermissions?: { [name: string]: 'read' | 'write' }
  /** Rate limits that differ from GitHub's. */
  limits?: Partial<LimitSettings>
  /** Jobs that may run at the same time. Default 4. */
  slots?: number
  /** Where workspaces and temps are made. Default: a new directory under the system's temp, removed by close(). */
  directory?: string
  /** Loopback port. Default: a free one. */
  port?: number
  /** `ghes`: no `job.check_run_id`, no `return_run_details`. Default `github.com`. */
  edition?: 'github.com' | 'ghes'
  /** Environment variables that every action process gets beside the runner's own (a proxy, a NODE_OPTIONS). */
  runnerEnvironment?: { [name: string]: string }
}

/** Our GitHub App and its OAuth client, to configure a control plane with. */
export interface AppIdentity {
  id: number
  slug: string
  botId: number
  clientId: string
  clientSecret: string
  /** PKCS#1, as GitHub hands it out. */
  privateKeyPem: string
  /** The same key as PKCS#8. */
  privateKeyPkcs8Pem: string
  record: AppRecord
}

/**
 * A running imitation of GitHub on a loopback port. State changes only through these methods or through HTTP, so a test sees the same
 * world as the code under test. `violations` must stay empty: each is a request or an answer that GitHub's own description does not allow.
 */
export interface GitHubDouble {
  apiUrl: string
  serverUrl: string
  graphqlUrl: string
  oidcIssuer: string
  app: AppIdentity
  users: People
  teams: Teams
  repositories: Repositories
  installations: Installations
  tokens: TokenIssuer
  /** Registered hooks, every delivery, and the switches that lose, hold, reorder and repeat them. */
  deliveries: DeliveryLog
  requests: RequestLog
  faults: Faults
  /** Rate limits, GitHub's figures unless set otherwise. */
  limits: RateLimits
  runs: Runs
  oidc: Oidc
  login: Login
  violations: readonly Violation[]

  /** Adds a comment as that person, delivers `issue_comment` created. */
  comment(issue: Issue, user: User, body: string): Comment
  /** Edits it as `editor` (default: its author), sets lastEditedAt, delivers `edited`. */
  editComment(comment: Comment, body: string, editor?: User): void
  deleteComment(comment: Comment, by?: User): void
  /** Changes title or body as `editor`; a changed body sets lastEditedAt. */
  editIssue(issue: Issue, change: { title?: string; body?: string }, editor: User): void
  /** Closes it as that person, or by a commit that they pushed. */
  closeIssue(issue: Issue, by: User, commit?: string): void
  reopenIssue(issue: Issue, by: User): void
  deleteIssue(issue: Issue, by: User): void
  transferIssue(issue: Issue, to: Repository, by: User): Issue
  /** Opens an issue as that person. */
  openIssue(repository: Repository, user: User, issue: { title: string; body?: string; labels?: string[] }): Issue

  /** Starts a workflow run; its jobs really run, each in a new workspace. */
  startRun(repository: Repository, workflowPath: string, start?: StartRun): RunHandle
  /**
   * Waits until the predicate holds, asked again after every change of state: no polling.
   * Rejects after `timeoutMs` (default 20,000) with the predicate's source and the last requests.
   */
  until<T>(predicate: () => T | undefined | null | false, timeoutMs?: number): Promise<T>
  /** Throws with all violations listed, if any. */
  assertValid(): void
  /** Cancels what runs, stops the server, removes the directories. Throws as assertValid does. */
  close(): Promise<void>
}
