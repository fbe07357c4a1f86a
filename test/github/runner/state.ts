import type { Issue, RepositoryRecord, User } from '../model.ts'
import type { CallInstance } from './expand.ts'
import type { Combination, StrategyContext } from './matrix.ts'
import type { Annotation, StepResult } from './step.ts'
import type { Job, JobPermissions, Workflow } from './workflow.ts'

export type Conclusion = 'success' | 'failure' | 'cancelled' | 'skipped' | 'startup_failure'

/** One run of a workflow, with all its attempts. */
export interface WorkflowRun {
  id: number
  number: number
  repository: RepositoryRecord
  workflow: { id: number; name: string; path: string }
  /** As it was when the run started; re-runs use it again. */
  definition: Workflow
  event: string
  actor: User
  /** `refs/heads/main`, `refs/tags/v1`, `refs/pull/1/merge`. */
  ref: string
  headBranch: string | null
  /** The head's commit, as the API shows it. */
  headSha: string
  /** GITHUB_SHA: the head's commit, or a pull request's merge commit. */
  sha: string
  headRepository: RepositoryRecord
  headRef: string
  baseRef: string
  pull: Issue | null
  /**
   * `fork`: a pull request from a fork, read-only token, no OIDC, no secrets. `dependabot`: started by Dependabot, read-only
   * token unless `permissions` raises it, Dependabot's own secrets, no OIDC. Re-runs by somebody else keep it.
   * https://docs.github.com/en/code-security/dependabot/troubleshooting-dependabot/troubleshooting-dependabot-on-github-actions,
   * google-github-actions/auth issue 51.
   */
  trust: 'full' | 'fork' | 'dependabot'
  /** What its jobs may see, by what started it. */
  secrets: { readonly [name: string]: string }
  inputs: { readonly [name: string]: string }
  payload: object
  displayTitle: string
  createdAt: Date
  attempts: RunAttempt[]
}

export interface RunAttempt {
  number: number
  triggeringActor: User
  status: 'queued' | 'in_progress' | 'completed'
  conclusion: Conclusion | null
  createdAt: Date
  startedAt: Date
  updatedAt: Date
  jobs: JobAttempt[]
}

/** One job in one attempt. Jobs that a re-run does not repeat are listed in the new attempt too, under new ids, as they ended before. */
export interface JobAttempt {
  id: number
  run: number
  attempt: number
  /** Key in its workflow file, which is GITHUB_JOB. */
  key: string
  /** Its key with those of the calls that lead to it: siblings of one matrix share it. */
  group: string
  /** Display name, `pause (a, 1)` for a matrix, `caller / callee` for a called workflow's. */
  name: string
  matrix: Combination | null
  strategy: StrategyContext
  definition: Job
  /** The call of a reusable workflow that it belongs to. */
  call: CallInstance | null
  permissions: JobPermissions
  status: 'queued' | 'in_progress' | 'completed'
  conclusion: Conclusion | null
  createdAt: Date
  startedAt: Date
  completedAt: Date | null
  steps: StepResult[]
  outputs: { [name: string]: string }
  /** Kept until close(); null where the job did not run in this attempt. */
  workspace: string | null
  temp: string | null
  runnerName: string | null
  /** What the service says of the job as a whole: a timeout, a lost runner. */
  annotations: Annotation[]
  /** Processes that the runner had to kill at the job's end. */
  orphans: number[]
  /** Whether the job was carried over from an earlier attempt. */
  carried: boolean
}
