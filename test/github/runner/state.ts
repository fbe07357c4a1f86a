import type { Issue, RepositoryRecord, User } from '../model.ts'
import type { StepResult } from './step.ts'
import type { Job, MatrixValue, Workflow } from './workflow.ts'

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
  /** A pull request from a fork, or Dependabot's: read-only token, no OIDC, no secrets. */
  untrusted: boolean
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
  /** Key in the workflow file, which is GITHUB_JOB. */
  key: string
  /** Display name, `pause (a, 1)` for a matrix. */
  name: string
  matrix: { readonly [axis: string]: MatrixValue } | null
  definition: Job
  status: 'queued' | 'in_progress' | 'completed'
  conclusion: Conclusion | null
  createdAt: Date
  startedAt: Date
  completedAt: Date | null
  steps: StepResult[]
  /** Outputs of all steps together; a later step's wins. */
  outputs: { [name: string]: string }
  /** Kept until close(); null where the job did not run in this attempt. */
  workspace: string | null
  temp: string | null
  runnerName: string | null
  /** Processes that the runner had to kill at the job's end. */
  orphans: number[]
  /** Whether the job was carried over from an earlier attempt. */
  carried: boolean
}
