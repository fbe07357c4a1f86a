import {
  cannotCancel,
  cannotRetry,
  disabledWorkflow,
  jobRunning,
  missingInput,
  noDispatchTrigger,
  noSuchRef,
  notFound,
  runRunning,
  tooOld,
  unexpectedInputs,
} from '../errors.ts'
import type { Issue, User, WorkflowRecord } from '../model.ts'
import type { People } from '../people.ts'
import type { Repositories } from '../repositories.ts'
import type { Repository } from '../repository.ts'
import type { World } from '../world.ts'
import { type AttemptPorts, firstJobs, nextJobs, runAttempt, withDependents } from './attempt.ts'
import { ConcurrencyGroups } from './concurrency.ts'
import { makeHandle, type RunHandle } from './handle.ts'
import { newRun } from './new-run.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from './state.ts'
import type { RunningProcess } from './step.ts'
import type { Workflow } from './workflow.ts'

export interface StartRun {
  /** Default: `push` where the workflow has it, else its first. */
  event?: string
  /** Default: the owner (a person named like an organisation never acts, so give one there). */
  actor?: User | string
  /** Branch name or full ref. Default: the default branch; for a pull request its merge ref. */
  ref?: string
  inputs?: { readonly [name: string]: string }
  /** Added to the event's payload. */
  payload?: object
  /** Runs for this pull request (event `pull_request`). */
  pull?: Issue
  /** The run that a `workflow_run` event follows. */
  follows?: WorkflowRun
  /** Called with every process of the run as it starts, re-runs included. */
  onProcess?: (process: RunningProcess) => void
  /** Milliseconds after its start at which a process gets SIGKILL; null lets it live. Asked for every process. */
  killAt?: (process: RunningProcess) => number | null
}

const MAX_ATTEMPTS = 50
const MONTH = 30 * 24 * 3600 * 1000

export type { RunHandle } from './handle.ts'

/** All workflow runs: starting, re-running and cancelling them, with GitHub's refusals. */
export class Runs {
  readonly all: WorkflowRun[] = []
  readonly #ports: AttemptPorts
  readonly #world: World
  readonly #people: People
  readonly #repositories: Repositories
  readonly #requested: (run: WorkflowRun, attempt: RunAttempt) => void
  readonly #aborts = new Map<RunAttempt, AbortController>()
  readonly #listeners = new Map<number, (process: RunningProcess) => void>()
  readonly #groups = new ConcurrencyGroups(attempt => this.#aborts.get(attempt)?.abort())
  readonly #working = new Set<Promise<void>>()
  readonly #numbers = new Map<number, number>()

  constructor(
    ports: AttemptPorts,
    people: People,
    repositories: Repositories,
    requested: (run: WorkflowRun, attempt: RunAttempt) => void,
  ) {
    this.#ports = { ...ports, onProcess: process => this.#listeners.get(process.job.run)?.(process) }
    this.#world = ports.world
    this.#people = people
    this.#repositories = repositories
    this.#requested = requested
  }

  start(repository: Repository, workflowPath: string, start: StartRun = {}): RunHandle {
    const workflow = repository.workflows.find(
      one => one.path === workflowPath || one.path.endsWith(`/${workflowPath}`),
    )
    if (!workflow) throw new Error(`${repository.fullName} has no workflow ${workflowPath}`)
    const actor =
      typeof start.actor === 'string' ? this.#people.ensure(start.actor) : (start.actor ?? repository.record.owner)
    const number = (this.#numbers.get(workflow.id) ?? 0) + 1
    this.#numbers.set(workflow.id, number)
    const run = newRun(this.#world, repository, workflow, start, { actor, number })
    this.all.push(run)
    this.#listeners.set(run.id, process => {
      start.onProcess?.(process)
      const delay = start.killAt?.(process) ?? null
      if (delay !== null) setTimeout(() => process.kill('SIGKILL'), delay).unref()
    })
    this.#begin(run, { actor: run.actor, jobs: firstJobs(this.#world, run.id, workflow.definition) })
    return this.handle(run)
  }

  /** POST .../dispatches: checks what GitHub checks, then starts. */
  dispatch(
    repository: Repository,
    workflow: WorkflowRecord<Workflow>,
    ref: string,
    inputs: { [name: string]: string },
    actor: User,
  ): WorkflowRun {
    const name = ref.replace(/^refs\/(?:heads|tags)\//, '')
    const full = repository.record.branches.has(name)
      ? `refs/heads/${name}`
      : repository.record.tags.has(name)
        ? `refs/tags/${name}`
        : null
    if (full === null) throw noSuchRef(ref)
    if (!workflow.definition.on.includes('workflow_dispatch')) throw noDispatchTrigger()
    if (workflow.state !== 'active') throw disabledWorkflow()
    const declared = workflow.definition.inputs ?? {}
    const unexpected = Object.keys(inputs).filter(input => !(input in declared))
    if (unexpected.length > 0) throw unexpectedInputs(unexpected)
    for (const [input, { required, default: fallback }] of Object.entries(declared)) {
      if (required && fallback === undefined && !(input in inputs)) throw missingInput(input)
    }
    const defaults = Object.fromEntries(Object.entries(declared).map(([input, one]) => [input, one.default ?? '']))
    return this.start(repository, workflow.path, {
      event: 'workflow_dispatch',
      actor,
      ref: full,
      inputs: { ...defaults, ...inputs },
    }).run
  }

  rerunJob(job: JobAttempt, by: User): void {
    const { run, attempt } = this.#latest(job.run)
    if (attempt.status !== 'completed') throw jobRunning()
    // Only the latest attempt's jobs can be repeated.
    if (!attempt.jobs.includes(job)) throw cannotRetry()
    this.#again(run, attempt, by, [job])
  }

  rerunFailed(run: WorkflowRun, by: User): void {
    const { attempt } = this.#latest(run.id)
    if (attempt.status !== 'completed') throw runRunning()
    const failed = attempt.jobs.filter(job => job.conclusion === 'failure' || job.conclusion === 'cancelled')
    if (failed.length === 0) throw cannotRetry()
    this.#again(run, attempt, by, failed)
  }

  rerun(run: WorkflowRun, by: User): void {
    const { attempt } = this.#latest(run.id)
    if (attempt.status !== 'completed') throw runRunning()
    this.#again(run, attempt, by, attempt.jobs)
  }

  #again(run: WorkflowRun, attempt: RunAttempt, by: User, jobs: readonly JobAttempt[]): void {
    if (this.#world.now().getTime() - run.createdAt.getTime() > MONTH) throw tooOld()
    if (attempt.number >= MAX_ATTEMPTS) throw cannotRetry()
    const workflow = this.#repositories.byId(run.repository.id)?.workflows.find(one => one.path === run.workflow.path)
    if (workflow?.state !== 'active') throw cannotRetry()
    this.#begin(run, { actor: by, jobs: nextJobs(this.#world, attempt, withDependents(attempt.jobs, jobs)) })
  }

  cancel(run: WorkflowRun): void {
    const { attempt } = this.#latest(run.id)
    if (attempt.status === 'completed') throw cannotCancel()
    this.#aborts.get(attempt)?.abort()
  }

  find(id: number): WorkflowRun {
    const run = this.all.find(one => one.id === id)
    if (!run) throw notFound()
    return run
  }

  findJob(id: number): { run: WorkflowRun; job: JobAttempt } {
    for (const run of this.all) {
      for (const attempt of run.attempts) {
        const job = attempt.jobs.find(one => one.id === id)
        if (job) return { run, job }
      }
    }
    throw notFound()
  }

  handle(run: WorkflowRun): RunHandle {
    return makeHandle(this.#world, run, () => this.cancel(run))
  }

  /** Cancels everything and waits until every process is gone. */
  async close(): Promise<void> {
    for (const abort of this.#aborts.values()) abort.abort()
    await Promise.all(this.#working)
  }

  #latest(id: number): { run: WorkflowRun; attempt: RunAttempt } {
    const run = this.find(id)
    const attempt = run.attempts.at(-1)
    if (!attempt) throw notFound()
    return { run, attempt }
  }

  #begin(run: WorkflowRun, { actor, jobs }: { actor: User; jobs: JobAttempt[] }): void {
    const now = this.#world.now()
    const attempt: RunAttempt = {
      number: run.attempts.length + 1,
      triggeringActor: actor,
      status: 'queued',
      conclusion: null,
      createdAt: now,
      startedAt: now,
      updatedAt: now,
      jobs,
    }
    run.attempts.push(attempt)
    const abort = new AbortController()
    this.#aborts.set(attempt, abort)
    this.#requested(run, attempt)
    // The caller of start or of the API gets its answer before any job runs.
    const work = new Promise(resolve => setImmediate(resolve))
      .then(() => this.#groups.turn(run, attempt, abort.signal))
      .then(go => (go ? runAttempt(run, attempt, this.#ports, abort.signal) : this.#neverStarted(run, attempt)))
      .finally(() => {
        this.#aborts.delete(attempt)
        this.#groups.leave(run, attempt)
        this.#working.delete(work)
        this.#world.changed()
      })
    this.#working.add(work)
  }

  #neverStarted(run: WorkflowRun, attempt: RunAttempt): void {
    for (const job of attempt.jobs) {
      if (job.status === 'completed') continue
      job.status = 'completed'
      job.conclusion = 'cancelled'
      job.completedAt = this.#world.now()
    }
    attempt.status = 'completed'
    attempt.conclusion = 'cancelled'
    attempt.updatedAt = this.#world.now()
    this.#ports.event('completed', run, attempt)
  }
}
