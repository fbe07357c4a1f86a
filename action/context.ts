import type { Clock, Ids } from '../policy/ports.ts'
import type { Annotations } from './annotations.ts'
import type { Guard } from './guard.ts'
import type { Inputs } from './inputs.ts'
import type { Job } from './job.ts'
import type { JobLog } from './job-log.ts'
import type { Progress } from './progress.ts'
import type { StepState } from './state.ts'

/** All that the Action works with, handed in by its entry. */
export interface ActionContext {
  inputs: Inputs
  job: Job
  environment: { readonly [name: string]: string | undefined }
  clock: Clock
  ids: Ids
  log: JobLog
  guard: Guard
  annotations: Annotations
  progress: Progress
  state: StepState
  signal: AbortSignal
}
