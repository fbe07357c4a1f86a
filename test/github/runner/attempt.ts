import { mkdirSync } from 'node:fs'
import type { Permissions } from '../model.ts'
import type { World } from '../world.ts'
import type { JobStop, Loss, RunStop } from './control.ts'
import { githubContext } from './environment.ts'
import { type Contexts, holds } from './expressions.ts'
import { type JobPorts, runJob } from './job.ts'
import { mayAskForIdentity, tokenPermissions } from './job-token.ts'
import { Needs, type Outcome } from './needs.ts'
import { Slots } from './slots.ts'
import type { Conclusion, JobAttempt, RunAttempt, WorkflowRun } from './state.ts'
import type { RunningProcess } from './step.ts'
import { timing } from './timing.ts'

/** What an attempt needs of the double. */
export interface AttemptPorts {
  world: World
  directory: string
  actionDirectory: string
  /** Directories of further actions by `owner/name@ref`. */
  actions: { readonly [uses: string]: string }
  node: string
  extraEnvironment: { readonly [name: string]: string }
  checkRunId: boolean
  slots: Slots
  issueJobToken(run: WorkflowRun, job: JobAttempt, permissions: Permissions): string
  revokeJobToken(token: string): void
  openOidc(run: WorkflowRun, job: JobAttempt): { url: string; token: string }
  closeOidc(token: string): void
  onProcess(process: RunningProcess): void
  /** A process that outlived its runner: to be ended with the double. */
  survivor(kill: () => void): void
  event(action: 'in_progress' | 'completed', run: WorkflowRun, attempt: RunAttempt): void
}

/** The runners of an attempt's running jobs, to lose them. */
export type Runners = Map<JobAttempt, (loss: Loss) => void>

/** Runs the queued jobs of an attempt in the order of their needs, to its end. Carried jobs stand as they are. */
export async function runAttempt(
  run: WorkflowRun,
  attempt: RunAttempt,
  ports: AttemptPorts,
  stop: RunStop,
  runners: Runners,
): Promise<void> {
  const { world } = ports
  attempt.startedAt = world.now()

  const finish = (job: JobAttempt, conclusion: Conclusion) => {
    job.status = 'completed'
    job.conclusion = conclusion
    job.completedAt = attempt.updatedAt = world.now()
    world.changed()
  }

  const runGroup = async (group: JobAttempt[], { contexts, ancestors, goes }: Outcome): Promise<void> => {
    const [first] = group
    if (first === undefined) return
    const siblings = new AbortController()
    const bound = new Slots(first.strategy['max-parallel'])
    const kept = (job: JobAttempt, cancelled: boolean): boolean => {
      const status = { success: ancestors.success && !cancelled, failure: ancestors.failure && !cancelled, cancelled }
      return goes && !stop.forced.aborted && holds(job.definition.if, { ...contexts(job), matrix: job.matrix }, status)
    }
    const perform = async (job: JobAttempt): Promise<void> => {
      const cancel = new AbortController()
      // The service asks each job's condition again when the run is cancelled; `always()` keeps a job going.
      const cancelled = () => void (!kept(job, true) && cancel.abort())
      if (!kept(job, stop.cancelled.aborted)) return finish(job, stop.cancelled.aborted ? 'cancelled' : 'skipped')
      if (!stop.cancelled.aborted) stop.cancelled.addEventListener('abort', cancelled, { once: true })
      stop.forced.addEventListener('abort', () => cancel.abort(), { once: true })
      siblings.signal.addEventListener('abort', () => cancel.abort(), { once: true })
      if (siblings.signal.aborted || !(await bound.take(cancel.signal))) return finish(job, 'cancelled')
      if (!(await ports.slots.take(cancel.signal))) finish(job, 'cancelled')
      else {
        const conclusion = await startJob(job, cancel, contexts(job))
        ports.slots.give()
        finish(job, conclusion)
        // GitHub's fail-fast, on unless switched off: a failed sibling cancels the others.
        if (conclusion === 'failure' && job.strategy['fail-fast']) siblings.abort()
      }
      bound.give()
      stop.cancelled.removeEventListener('abort', cancelled)
    }
    await Promise.all(group.filter(job => job.status !== 'completed').map(perform))
  }

  const startJob = async (job: JobAttempt, cancel: AbortController, contexts: Contexts): Promise<Conclusion> => {
    job.status = 'in_progress'
    job.startedAt = attempt.updatedAt = world.now()
    job.runnerName = `runner-${job.id}`
    if (attempt.status === 'queued') {
      attempt.status = 'in_progress'
      ports.event('in_progress', run, attempt)
    }
    const token = ports.issueJobToken(run, job, tokenPermissions(run, job))
    const oidc = mayAskForIdentity(run, job) ? ports.openOidc(run, job) : null
    mkdirSync(ports.directory, { recursive: true })
    const lost = new AbortController()
    runners.set(job, loss => lost.abort(loss))
    const forget = limitTime(job, cancel)
    world.changed()
    try {
      const jobStop: JobStop = { cancelled: cancel.signal, forced: stop.forced, lost: lost.signal }
      return await runJob(run, job, { ...ports, token, oidc, contexts, stop: jobStop } satisfies JobPorts)
    } finally {
      forget?.()
      runners.delete(job)
      // A job's token ends with the job.
      ports.revokeJobToken(token)
      if (oidc) ports.closeOidc(oidc.token)
    }
  }

  const needs = new Needs({
    jobs: attempt.jobs,
    secrets: run.secrets,
    base: job => ({ github: githubContext(world, run, job, ''), inputs: run.inputs }),
    status: () => ({ cancelled: stop.cancelled.aborted }),
    run: runGroup,
  })
  await needs.all()
  attempt.conclusion = stop.cancelled.aborted ? 'cancelled' : runConclusion(attempt.jobs)
  attempt.status = 'completed'
  attempt.updatedAt = world.now()
  ports.event('completed', run, attempt)
}

/** Ends an attempt that its concurrency group, or a cancel, never let begin. */
export function neverStarted(run: WorkflowRun, attempt: RunAttempt, { world, event }: AttemptPorts): void {
  for (const job of attempt.jobs) {
    if (job.status === 'completed') continue
    job.status = 'completed'
    job.conclusion = 'cancelled'
    job.completedAt = world.now()
  }
  attempt.status = 'completed'
  attempt.conclusion = 'cancelled'
  attempt.updatedAt = world.now()
  event('completed', run, attempt)
}

/** `timeout-minutes` of a job cancels it, as seen in public runs: conclusion `cancelled` and this annotation. */
function limitTime(job: JobAttempt, cancel: AbortController): (() => void) | null {
  const minutes = job.definition['timeout-minutes']
  if (minutes === undefined) return null
  return timing.after(minutes * timing.minute, () => {
    job.annotations.push({
      level: 'error',
      message: `The job has exceeded the maximum execution time of ${minutes}m0s`,
    })
    cancel.abort()
  })
}

function runConclusion(jobs: readonly JobAttempt[]): Conclusion {
  for (const conclusion of ['failure', 'cancelled'] as const)
    if (jobs.some(job => job.conclusion === conclusion)) return conclusion
  return jobs.every(job => job.conclusion === 'skipped') ? 'skipped' : 'success'
}
