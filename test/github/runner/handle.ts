import type { World } from '../world.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from './state.ts'
import type { StepResult } from './step.ts'

/** A job attempt as tests read it. */
export type JobResult = JobAttempt

/** A started run. */
export interface RunHandle {
  id: number
  run: WorkflowRun
  /** Resolves when attempt `number` (default: the latest at the call) has completed, jobs and all. */
  completed(number?: number, timeoutMs?: number): Promise<RunAttempt>
  /** The attempt of that number; default: the latest. */
  attempt(number?: number): RunAttempt
  /** The one job with that key or display name; throws where none or several fit. */
  job(name?: string, attempt?: number): JobResult
  /** The first `uses: agentctl` step of that job. */
  action(name?: string, attempt?: number): StepResult
  cancel(): void
}

/** Wraps a run for tests. */
export function makeHandle(world: World, run: WorkflowRun, cancel: () => void): RunHandle {
  const attempt = (number?: number): RunAttempt => {
    const found = number === undefined ? run.attempts.at(-1) : run.attempts[number - 1]
    if (!found) throw new Error(`run ${run.id} has no attempt ${number}`)
    return found
  }
  const job = (name?: string, number?: number): JobAttempt => {
    const found = attempt(number).jobs.filter(one => name === undefined || one.key === name || one.name === name)
    const [only] = found
    if (!only || found.length > 1) throw new Error(`run ${run.id}: ${found.length} jobs fit ${name ?? '(no name)'}`)
    return only
  }
  return {
    id: run.id,
    run,
    attempt,
    job,
    action: (name, number) => {
      const step = job(name, number).steps.find(one => one.kind === 'action')
      if (!step) throw new Error(`run ${run.id}: job ${name ?? ''} has no action step that ended`)
      return step
    },
    completed: (number, timeoutMs = 60_000) => {
      const wantedNumber = number ?? run.attempts.length
      return world.until(
        () => {
          const found = run.attempts[wantedNumber - 1]
          return found?.status === 'completed' ? found : null
        },
        timeoutMs,
        () => describe(run),
      )
    },
    cancel,
  }
}

function describe(run: WorkflowRun): string {
  const attempts = run.attempts.map(attempt => {
    const jobs = attempt.jobs.map(job => `${job.name} ${job.conclusion ?? job.status}`)
    return `attempt ${attempt.number} ${attempt.status} (${jobs.join(', ')})`
  })
  return `run ${run.id} has ${attempts.join('; ')}`
}
