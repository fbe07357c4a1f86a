import type { User } from '../model.ts'
import type { World } from '../world.ts'
import type { CallInstance, JobSeed } from './expand.ts'
import { callers } from './expand.ts'
import type { JobAttempt, RunAttempt } from './state.ts'

/** The jobs of the first attempt, all queued. */
export const firstJobs = (world: World, run: number, seeds: readonly JobSeed[]): JobAttempt[] =>
  seeds.map(seed => queuedJob(world, { ...seed, run, attempt: 1 }))

export function queuedAttempt(world: World, number: number, actor: User, jobs: JobAttempt[]): RunAttempt {
  const now = world.now()
  const times = { createdAt: now, startedAt: now, updatedAt: now }
  return { number, triggeringActor: actor, status: 'queued', conclusion: null, ...times, jobs }
}

function queuedJob(world: World, job: JobSeed & { run: number; attempt: number }): JobAttempt {
  const now = world.now()
  return {
    ...job,
    id: world.id(),
    status: 'queued',
    conclusion: null,
    createdAt: now,
    startedAt: now,
    completedAt: null,
    steps: [],
    outputs: {},
    annotations: [],
    workspace: null,
    temp: null,
    runnerName: null,
    orphans: [],
    carried: false,
  }
}

/**
 * The jobs of the next attempt: those to repeat queued again under new ids, the others carried over under new ids with their
 * outputs (https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs).
 */
export function nextJobs(world: World, previous: RunAttempt, repeat: ReadonlySet<JobAttempt>): JobAttempt[] {
  return previous.jobs.map(job =>
    repeat.has(job)
      ? queuedJob(world, { ...job, attempt: previous.number + 1 })
      : { ...job, id: world.id(), attempt: previous.number + 1, carried: true },
  )
}

/** The given jobs and every job that needs one of them, directly or not, also by the job that calls its workflow. */
export function withDependents(jobs: readonly JobAttempt[], chosen: readonly JobAttempt[]): Set<JobAttempt> {
  const result = new Set(chosen)
  for (let grew = true; grew; ) {
    grew = false
    for (const job of jobs) {
      if (result.has(job) || ![...result].some(other => needs(job, other))) continue
      result.add(job)
      grew = true
    }
  }
  return result
}

function needs(job: JobAttempt, other: JobAttempt): boolean {
  const wants: { keys: readonly string[]; within: CallInstance | null }[] = [
    { keys: job.definition.needs ?? [], within: job.call },
    ...callers(job.call).map(call => ({ keys: call.definition.needs ?? [], within: call.parent })),
  ]
  return wants.some(({ keys, within }) => keys.some(key => standsFor(other, key, within)))
}

/** Whether the job is the one that `key` names within that call, or belongs to a workflow which that one calls. */
export function standsFor(job: JobAttempt, key: string, within: CallInstance | null): boolean {
  if (job.call?.path === within?.path) return job.key === key
  return callers(job.call).some(call => call.parent?.path === within?.path && call.key === key)
}
