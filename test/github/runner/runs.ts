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
import type { Repositories, Repository } from '../repositories.ts'
import { iso, type World } from '../world.ts'
import { type AttemptPorts, firstJobs, nextJobs, runAttempt, withDependents } from './attempt.ts'
import { interpolate } from './expressions.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from './state.ts'
import type { RunningProcess, StepResult } from './step.ts'
import type { Workflow } from './workflow.ts'

/** A job attempt as tests read it. */
export type JobResult = JobAttempt

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
  cancel(by?: User): void
}

const MAX_ATTEMPTS = 50
const MONTH = 30 * 24 * 3600 * 1000

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
  readonly #groups = new Map<
    string,
    { running: RunAttempt | null; pending: { attempt: RunAttempt; go(start: boolean): void } | null }
  >()
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
    const run = this.#newRun(repository, workflow, start)
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
        return this.#world.until(
          () => {
            const found = run.attempts[wantedNumber - 1]
            return found?.status === 'completed' ? found : null
          },
          timeoutMs,
          () =>
            `run ${run.id} has ${run.attempts.map(a => `attempt ${a.number} ${a.status} (${a.jobs.map(j => `${j.name} ${j.conclusion ?? j.status}`).join(', ')})`).join('; ')}`,
        )
      },
      cancel: () => this.cancel(run),
    }
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
    const work = this.#turn(run, attempt, abort.signal)
      .then(go => (go ? runAttempt(run, attempt, this.#ports, abort.signal) : this.#neverStarted(run, attempt)))
      .finally(() => {
        this.#aborts.delete(attempt)
        this.#leave(run, attempt)
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

  /** Waits for the concurrency group, if any; false where a newer run took the pending place or the run was cancelled meanwhile. */
  async #turn(run: WorkflowRun, attempt: RunAttempt, signal: AbortSignal): Promise<boolean> {
    // The caller of start or of the API gets its answer before any job runs.
    await new Promise(resolve => setImmediate(resolve))
    const key = this.#groupOf(run)
    if (key === null) return true
    const group = this.#groups.get(key) ?? { running: null, pending: null }
    this.#groups.set(key, group)
    if (!group.running) {
      group.running = attempt
      return true
    }
    group.pending?.go(false)
    if (run.definition.concurrency?.['cancel-in-progress'] === true) this.#aborts.get(group.running)?.abort()
    return new Promise(resolve => {
      const go = (start: boolean) => {
        if (group.pending?.attempt === attempt) group.pending = null
        if (start) group.running = attempt
        resolve(start)
      }
      group.pending = { attempt, go }
      signal.addEventListener('abort', () => go(false), { once: true })
    })
  }

  #leave(run: WorkflowRun, attempt: RunAttempt): void {
    const group = this.#groups.get(this.#groupOf(run) ?? '')
    if (group?.running !== attempt) return
    group.running = null
    group.pending?.go(true)
  }

  #groupOf(run: WorkflowRun): string | null {
    const group = run.definition.concurrency?.group
    if (group === undefined) return null
    return `${run.repository.id}/${interpolate(group, { github: { ref: run.ref, workflow: run.workflow.name, run_id: run.id, head_ref: run.headRef }, inputs: run.inputs })}`
  }

  #newRun(repository: Repository, workflow: WorkflowRecord<Workflow>, start: StartRun): WorkflowRun {
    const { record } = repository
    const actor = typeof start.actor === 'string' ? this.#people.ensure(start.actor) : (start.actor ?? record.owner)
    const events = workflow.definition.on
    const event =
      start.event ?? (start.pull ? 'pull_request' : events.includes('push') ? 'push' : (events[0] ?? 'push'))
    const pull = start.pull?.pull ?? null
    const ref = pull ? `refs/pull/${start.pull?.number}/merge` : fullRef(start.ref ?? record.defaultBranch, repository)
    const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null
    const tag = ref.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : null
    const headSha = pull?.head.sha ?? (branch === null ? record.tags.get(tag ?? '') : record.branches.get(branch))
    if (headSha === undefined) throw new Error(`${repository.fullName} has no ${ref}`)
    const headRepository = pull?.head.repository ?? record
    const number = (this.#numbers.get(workflow.id) ?? 0) + 1
    this.#numbers.set(workflow.id, number)
    const id = this.#world.id()
    const head = headRepository.commits.get(headSha) ?? record.commits.get(headSha)
    const run: WorkflowRun = {
      id,
      number,
      repository: record,
      workflow: { id: workflow.id, name: workflow.name, path: workflow.path },
      definition: workflow.definition,
      event,
      actor,
      ref,
      headBranch: pull?.head.ref ?? branch ?? tag,
      headSha,
      headRepository,
      headRef: pull?.head.ref ?? '',
      baseRef: pull?.base.ref ?? '',
      pull: start.pull ?? null,
      untrusted: (pull !== null && headRepository !== record) || actor.login === 'dependabot[bot]',
      inputs: start.inputs ?? {},
      payload: {},
      displayTitle: start.pull?.title ?? head?.message.split('\n')[0] ?? workflow.name,
      createdAt: this.#world.now(),
      attempts: [],
    }
    run.payload = { ...eventPayload(run, start), ...start.payload }
    return run
  }
}

const fullRef = (ref: string, repository: Repository): string => {
  if (ref.startsWith('refs/')) return ref
  return repository.record.tags.has(ref) && !repository.record.branches.has(ref)
    ? `refs/tags/${ref}`
    : `refs/heads/${ref}`
}

/** The parts of GITHUB_EVENT_PATH's payload that jobs read. */
function eventPayload(run: WorkflowRun, start: StartRun): object {
  const { repository, actor } = run
  const common = {
    repository: {
      id: repository.id,
      full_name: `${repository.owner.login}/${repository.name}`,
      private: repository.private,
    },
    sender: { id: actor.id, login: actor.login, type: actor.type },
  }
  if (run.pull?.pull) {
    const { head, base } = run.pull.pull
    const repo = (record: WorkflowRun['repository']) => ({
      id: record.id,
      full_name: `${record.owner.login}/${record.name}`,
      fork: record.fork,
    })
    return {
      action: 'synchronize',
      number: run.pull.number,
      pull_request: {
        number: run.pull.number,
        user: { id: run.pull.user.id, login: run.pull.user.login },
        head: { ref: head.ref, sha: head.sha, repo: repo(head.repository) },
        base: { ref: base.ref, sha: base.sha, repo: repo(repository) },
      },
      ...common,
    }
  }
  if (run.event === 'workflow_dispatch')
    return { ref: run.ref, inputs: run.inputs, workflow: run.workflow.path, ...common }
  if (run.event === 'workflow_run' && start.follows) {
    const { follows } = start
    return {
      action: 'completed',
      workflow_run: {
        id: follows.id,
        head_sha: follows.headSha,
        actor: { id: follows.actor.id, login: follows.actor.login },
      },
      ...common,
    }
  }
  const head = repository.commits.get(run.headSha)
  return {
    ref: run.ref,
    before: head?.parents[0] ?? '0'.repeat(40),
    after: run.headSha,
    head_commit: head ? { id: head.sha, message: head.message, timestamp: iso(head.at) } : null,
    commits: head ? [{ id: head.sha, message: head.message }] : [],
    ...common,
  }
}
