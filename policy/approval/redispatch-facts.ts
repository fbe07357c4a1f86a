/** What the choice of re-dispatch depends on, read from the API when the pause is resolved and whenever it is tried again. */
export interface RedispatchFacts {
  /** As the run recorded it; `auto` means rerun. */
  resumeWith: 'auto' | 'rerun' | 'workflow_dispatch'
  /** ISO time. */
  now: string
  workflowRun: {
    id: number
    /** The latest attempt, from 1. */
    attempt: number
    status: 'queued' | 'in_progress' | 'completed' | 'waiting' | 'requested' | 'pending' | string
    createdAt: string
  }
  /** `active`, or why the workflow cannot run: `disabled_manually`, `disabled_inactivity`, `deleted`. */
  workflowState: string
  /** Jobs of the latest attempt. */
  jobs: RedispatchJob[]
  /** The paused job in the latest attempt; null where it could not be found. */
  jobId: number | null
  /** The recorded branch or tag and where it points now; null where none was recorded. */
  ref: { name: string /** null = gone */; sha: string | null } | null
  /** The recorded commit. */
  sha: string
  /** The workflow file declares the input `agentctl-run`. */
  dispatchInputDeclared: boolean
  /** A newer run of the same workflow and ref. */
  newerRun: { id: number; url: string } | null
  onSuperseded: 'warn' | 'refuse'
  /** GitHub said that the run cannot be retried (log retention, expired): final for `rerun`. */
  rerunRefused: string | null
}

export interface RedispatchJob {
  id: number
  name: string
  status: string
  /** null while not completed. */
  conclusion: string | null
  /** A pause of ours whose items are all resolved, or one that may run again beside it because it only waits again. */
  isResolvedPause: boolean
}

export type RedispatchChoice =
  | { kind: 'rerun_job'; jobId: number; warning: string }
  | { kind: 'rerun_failed_jobs'; workflowRunId: number; warning: string }
  | { kind: 'workflow_dispatch'; ref: string; warning: string }
  /** Not yet: a job of the attempt still runs. */
  | { kind: 'wait'; job: string; reason: string }
  /** Never by us: the resolution stands, people read why and what to do by hand. */
  | { kind: 'nothing'; code: RedispatchFailure; reason: string; remedy: string }

export type RedispatchFailure =
  | 'superseded'
  | 'workflow_disabled'
  | 'too_old'
  | 'too_many_attempts'
  | 'rerun_refused'
  | 'job_not_found'
  | 'ref_moved'
  | 'input_missing'
