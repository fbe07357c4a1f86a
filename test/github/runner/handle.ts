import type { World } from '../world.ts'
import type { Loss } from './control.ts'
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
  /** The first action's step of that job, within composite actions too. */
  action(name?: string, attempt?: number): StepResult
  cancel(): void
  forceCancel(): void
  /** The machine of that job's runner is gone, or the runner alone (`runner`): its step's process lives on unheard. */
  loseRunner(name?: string, loss?: Loss): void
}

/** What a handle asks of all runs. */
export interface RunCommands {
  cancel(run: WorkflowRun): void
  forceCancel(run: WorkflowRun): void
  loseRunner(job: JobAttempt, loss: Loss): void
}

/** Wraps a run for tests. */
export function makeHandle(world: World, run: WorkflowRun, commands: RunCommands): RunHandle {
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
      const step = withNested(job(name, number).steps).find(one => one.kind === 'action')
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
    cancel: () => commands.cancel(run),
    forceCancel: () => commands.forceCancel(run),
    loseRunner: (name, loss = 'machine') => commands.loseRunner(job(name), loss),
  }
}

/** Steps with those of their composite actions after them. */
const withNested = (steps: readonly StepResult[]): StepResult[] =>
  steps.flatMap(step => [step, ...withNested(step.nested)])

function describe(run: WorkflowRun): string {
  const attempts = run.attempts.map(attempt => {
    const jobs = attempt.jobs.map(job => `${job.name} ${job.conclusion ?? job.status}`)
    return `attempt ${attempt.number} ${attempt.status} (${jobs.join(', ')})`
  })
  return `run ${run.id} has ${attempts.join('; ')}`
}
