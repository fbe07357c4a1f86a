import { cannotCancel, cannotRetry, jobRunning, notFound, runRunning, tooOld } from '../errors.ts'
import type { User, WorkflowRecord } from '../model.ts'
import type { People } from '../people.ts'
import type { Repositories } from '../repositories.ts'
import type { Repository } from '../repository.ts'
import type { World } from '../world.ts'
import { type AttemptPorts, neverStarted, type Runners, runAttempt } from './attempt.ts'
import { ConcurrencyGroups } from './concurrency.ts'
import { type Loss, RunStop } from './control.ts'
import { dispatched } from './dispatch.ts'
import { expand } from './expand.ts'
import { makeHandle, type RunHandle } from './handle.ts'
import { firstJobs, nextJobs, queuedAttempt, withDependents } from './jobs.ts'
import { newRun, type StartRun } from './new-run.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from './state.ts'
import type { RunningProcess } from './step.ts'
import type { Workflow } from './workflow.ts'

/**
 * 50 re-runs, that is 51 attempts, within 30 days:
 * https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs.
 */
const MAX_RERUNS = 50
const MONTH = 30 * 24 * 3600 * 1000

export type { RunHandle } from './handle.ts'
export type { StartRun } from './new-run.ts'

/** All workflow runs: starting, re-running and cancelling them, with GitHub's refusals. */
export class Runs {
  readonly all: WorkflowRun[] = []
  readonly #ports: AttemptPorts
  readonly #world: World
  readonly #people: People
  readonly #repositories: Repositories
  readonly #requested: (run: WorkflowRun, attempt: RunAttempt) => void
  readonly #stops = new Map<RunAttempt, RunStop>()
  readonly #runners: Runners = new Map()
  readonly #survivors: (() => void)[] = []
  readonly #listeners = new Map<number, (process: RunningProcess) => void>()
  readonly #groups = new ConcurrencyGroups(attempt => this.#stops.get(attempt)?.cancel())
  readonly #working = new Set<Promise<void>>()
  readonly #numbers = new Map<number, number>()

  constructor(
    ports: AttemptPorts,
    people: People,
    repositories: Repositories,
    requested: (run: WorkflowRun, attempt: RunAttempt) => void,
  ) {
    this.#ports = {
      ...ports,
      onProcess: process => this.#listeners.get(process.job.run)?.(process),
      survivor: kill => void this.#survivors.push(kill),
    }
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
    const find = (path: string) => repository.workflows.find(one => one.path === path)?.definition
    const contexts = { inputs: run.inputs, github: { ref: run.ref, event_name: run.event } }
    const jobs = firstJobs(this.#world, run.id, expand(workflow.definition, find, contexts))
    this.all.push(run)
    this.#listeners.set(run.id, process => {
      start.onProcess?.(process)
      const delay = start.killAt?.(process) ?? null
      if (delay !== null) setTimeout(() => process.kill('SIGKILL'), delay).unref()
    })
    this.#begin(run, { actor: run.actor, jobs })
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
    return this.start(repository, workflow.path, dispatched(repository, workflow, ref, inputs, actor)).run
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
    if (attempt.number > MAX_RERUNS) throw cannotRetry()
    const workflow = this.#repositories.byId(run.repository.id)?.workflows.find(one => one.path === run.workflow.path)
    if (workflow?.state !== 'active') throw cannotRetry()
    this.#begin(run, { actor: by, jobs: nextJobs(this.#world, attempt, withDependents(attempt.jobs, jobs)) })
  }

  cancel(run: WorkflowRun): void {
    this.#stopOf(run).cancel()
  }

  /** POST .../force-cancel: https://docs.github.com/en/rest/actions/workflow-runs#force-cancel-a-workflow-run */
  forceCancel(run: WorkflowRun): void {
    this.#stopOf(run).force()
  }

  #stopOf(run: WorkflowRun): RunStop {
    const { attempt } = this.#latest(run.id)
    const stop = this.#stops.get(attempt)
    if (attempt.status === 'completed' || !stop) throw cannotCancel()
    return stop
  }

  /** Takes the runner of a running job away, with its machine or alone. */
  loseRunner(job: JobAttempt, loss: Loss): void {
    const lose = this.#runners.get(job)
    if (!lose) throw new Error(`job ${job.name} has no runner now`)
    lose(loss)
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
    return makeHandle(this.#world, run, this)
  }

  /** Cancels everything and waits until every process is gone. */
  async close(): Promise<void> {
    for (const stop of this.#stops.values()) stop.force()
    for (const kill of this.#survivors) kill()
    await Promise.all(this.#working)
  }

  #latest(id: number): { run: WorkflowRun; attempt: RunAttempt } {
    const run = this.find(id)
    const attempt = run.attempts.at(-1)
    if (!attempt) throw notFound()
    return { run, attempt }
  }

  #begin(run: WorkflowRun, { actor, jobs }: { actor: User; jobs: JobAttempt[] }): void {
    const attempt = queuedAttempt(this.#world, run.attempts.length + 1, actor, jobs)
    run.attempts.push(attempt)
    const stop = new RunStop()
    this.#stops.set(attempt, stop)
    this.#requested(run, attempt)
    // The caller of start or of the API gets its answer before any job runs.
    const work = new Promise(resolve => setImmediate(resolve))
      .then(() => this.#groups.turn(run, attempt, stop.cancelled))
      .then(go =>
        go ? runAttempt(run, attempt, this.#ports, stop, this.#runners) : neverStarted(run, attempt, this.#ports),
      )
      .finally(() => {
        this.#stops.delete(attempt)
        this.#groups.leave(run, attempt)
        this.#working.delete(work)
        this.#world.changed()
      })
    this.#working.add(work)
  }
}
