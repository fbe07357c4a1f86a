import type { LedgerStore } from '../../../ledger/index.ts'
import type { Instance } from '../../../ledger/port.ts'
import type { RunState } from '../../../policy/states.ts'
import type { Job } from '../../github/index.ts'

/** Runs whose job, run again, executes nothing that was not approved: it waits again, or gives its recorded code again. */
const harmlessStates: ReadonlySet<RunState> = new Set(['paused', 'denied', 'cancelled', 'uncertain'])
const passing: ReadonlySet<string | null> = new Set(['success', 'skipped', 'neutral', null])

/** The job to re-run for an instance, and the names of jobs that may be re-run with it. */
export interface PausedJob {
  jobId: number | null
  /** Display names of jobs that are pauses of ours beside those that are known by name. */
  ours: string[]
}

/** The paused job in the latest attempt: by its id, else by its display name, which siblings do not share. */
export function pausedJob(store: LedgerStore, jobs: readonly Job[], instance: Instance): PausedJob {
  const same = jobs.find(job => job.id === instance.jobId)
  if (same !== undefined) return { jobId: same.id, ours: [] }
  const named = jobs.filter(job => job.name === instance.job)
  if (instance.jobId === null || named.length === 0) return byKey(store, jobs, instance)
  return { jobId: named.length === 1 ? (named[0]?.id ?? null) : null, ours: [] }
}

/**
 * GHES tells a job no id, so the instance knows its key and its matrix digest only (04, the instance); where several jobs
 * have one display name, it knows that name and a digest. Matrix siblings cannot be told apart then; where every failed job is one of them and has a run of ours that waits or has ended without
 * success, all failed jobs may be re-run: only what is resolved goes on.
 */
function byKey(store: LedgerStore, jobs: readonly Job[], instance: Instance): PausedJob {
  const key = keyOf(instance)
  const siblings = jobs.filter(({ name }) => name === key || (instance.jobId === null && name.startsWith(`${key} (`)))
  if (siblings.length === 1) return { jobId: siblings[0]?.id ?? null, ours: siblings.map(({ name }) => name) }
  const failed = jobs.filter(({ conclusion }) => !passing.has(conclusion))
  const ours = new Set(
    store
      .runs({ commit: instance.sha, limit: 200 })
      .items.filter(({ state }) => harmlessStates.has(state))
      .flatMap(({ instance: other }) =>
        other?.workflowRunId === instance.workflowRunId && isKeyed(other, instance) && keyOf(other) === key
          ? [other.job]
          : [],
      ),
  )
  const isAllOurs = failed.length > 0 && failed.every(job => siblings.includes(job)) && ours.size >= failed.length
  return isAllOurs ? { jobId: failed[0]?.id ?? null, ours: failed.map(({ name }) => name) } : { jobId: null, ours: [] }
}

/** Whether both lack a job id, or neither does. */
const isKeyed = (a: Instance, b: Instance): boolean => (a.jobId === null) === (b.jobId === null)

/** `GITHUB_JOB` or display name of an instance whose job is that with a digest behind it. */
function keyOf({ job }: Instance): string {
  return job.slice(0, job.lastIndexOf(' '))
}
