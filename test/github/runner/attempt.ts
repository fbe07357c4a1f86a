import { mkdirSync } from 'node:fs'
import type { Permissions } from '../model.ts'
import type { World } from '../world.ts'
import { type JobPorts, runJob, wanted } from './job.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from './state.ts'
import type { RunningProcess } from './step.ts'
import type { Job, JobPermissions, MatrixValue, Workflow } from './workflow.ts'

/** What an attempt needs of the double. */
export interface AttemptPorts {
  world: World
  directory: string
  actionDirectory: string
  node: string
  extraEnvironment: { readonly [name: string]: string }
  checkRunId: boolean
  slots: Slots
  issueJobToken(run: WorkflowRun, job: JobAttempt, permissions: Permissions): string
  revokeJobToken(token: string): void
  openOidc(run: WorkflowRun, job: JobAttempt): { url: string; token: string }
  closeOidc(token: string): void
  onProcess(process: RunningProcess): void
  event(action: 'in_progress' | 'completed', run: WorkflowRun, attempt: RunAttempt): void
}

/** Bounds how many jobs run at once, over all runs. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#free > 0) {
      this.#free--
      return true
    }
    return new Promise(resolve => {
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve(true)
      }
      const stop = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1)
        resolve(false)
      }
      this.#waiting.push(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}

/** All combinations of a matrix, as `{axis: value}`; `null` alone without one. */
export function combinations(job: Job): ({ [axis: string]: MatrixValue } | null)[] {
  if (!job.strategy) return [null]
  return Object.entries(job.strategy.matrix).reduce<{ [axis: string]: MatrixValue }[]>(
    (all, [axis, values]) => all.flatMap(one => values.map(value => ({ ...one, [axis]: value }))),
    [{}],
  )
}

export const jobName = (key: string, job: Job, matrix: { [axis: string]: MatrixValue } | null): string =>
  matrix ? `${job.name ?? key} (${Object.values(matrix).join(', ')})` : (job.name ?? key)

/** Runs the queued jobs of an attempt in the order of their needs, to its end. Carried jobs stand as they are. */
export async function runAttempt(
  run: WorkflowRun,
  attempt: RunAttempt,
  ports: AttemptPorts,
  signal: AbortSignal,
): Promise<void> {
  const { world } = ports
  const groups = new Map<string, { jobs: JobAttempt[]; stop: AbortController }>()
  for (const job of attempt.jobs) {
    const group = groups.get(job.key) ?? { jobs: [], stop: new AbortController() }
    group.jobs.push(job)
    groups.set(job.key, group)
  }
  attempt.startedAt = world.now()

  const finish = (job: JobAttempt, conclusion: NonNullable<JobAttempt['conclusion']>) => {
    job.status = 'completed'
    job.conclusion = conclusion
    job.completedAt = attempt.updatedAt = world.now()
    world.changed()
  }
  const results = new Map<string, Promise<string>>()
  const resultOf = (key: string): Promise<string> => {
    const known = results.get(key)
    if (known !== undefined) return known
    const result = runGroup(key)
    results.set(key, result)
    return result
  }
  const runGroup = async (key: string): Promise<string> => {
    const group = groups.get(key)
    if (!group) throw new Error(`workflow ${run.workflow.path} needs a job ${key}, which it does not have`)
    const { definition } = group.jobs[0] ?? { definition: null }
    const needs = await Promise.all((definition?.needs ?? []).map(async need => [need, await resultOf(need)] as const))
    const failed = needs.some(([, result]) => result !== 'success')
    const run_ = wanted(definition?.if, failed, signal.aborted)
    const bound = new Slots(definition?.strategy?.['max-parallel'] ?? group.jobs.length)
    const stop = AbortSignal.any([signal, group.stop.signal])
    const outputs = (need: string) =>
      Object.assign({}, ...(groups.get(need)?.jobs ?? []).map(job => job.outputs)) as { [name: string]: string }
    const context = Object.fromEntries(needs.map(([need, result]) => [need, { outputs: outputs(need), result }]))
    await Promise.all(
      group.jobs
        .filter(job => job.status !== 'completed')
        .map(async job => {
          if (!run_) return finish(job, signal.aborted ? 'cancelled' : 'skipped')
          if (!(await bound.take(stop))) return finish(job, 'cancelled')
          if (await ports.slots.take(stop)) {
            const conclusion = await startJob(job, stop, context)
            ports.slots.give()
            finish(job, conclusion)
            // GitHub's fail-fast, on unless switched off: a failed sibling cancels the others.
            if (conclusion === 'failure' && definition?.strategy?.['fail-fast'] !== false) group.stop.abort()
          } else finish(job, 'cancelled')
          bound.give()
        }),
    )
    return resultOfJobs(group.jobs)
  }
  const startJob = async (job: JobAttempt, stop: AbortSignal, needs: JobPorts['needs']) => {
    job.status = 'in_progress'
    job.startedAt = attempt.updatedAt = world.now()
    job.runnerName = `runner-${job.id}`
    if (attempt.status === 'queued') {
      attempt.status = 'in_progress'
      ports.event('in_progress', run, attempt)
    }
    const declared = job.definition.permissions ?? run.definition.permissions ?? { contents: 'read', packages: 'read' }
    const token = ports.issueJobToken(run, job, tokenPermissions(declared, run.untrusted))
    const oidc = declared['id-token'] === 'write' && !run.untrusted ? ports.openOidc(run, job) : null
    mkdirSync(ports.directory, { recursive: true })
    try {
      return await runJob(run, job, { ...ports, token, oidc, needs, signal: stop })
    } finally {
      // A job's token ends with the job.
      ports.revokeJobToken(token)
      if (oidc) ports.closeOidc(oidc.token)
    }
  }

  await Promise.all([...groups.keys()].map(resultOf))
  attempt.conclusion = signal.aborted ? 'cancelled' : runConclusion(attempt.jobs)
  attempt.status = 'completed'
  attempt.updatedAt = world.now()
  ports.event('completed', run, attempt)
}

function resultOfJobs(jobs: JobAttempt[]): string {
  for (const conclusion of ['failure', 'cancelled', 'skipped'] as const)
    if (jobs.some(job => job.conclusion === conclusion)) return conclusion
  return 'success'
}

function runConclusion(jobs: JobAttempt[]): 'success' | 'failure' | 'cancelled' | 'skipped' {
  const result = resultOfJobs(jobs)
  if (result === 'skipped') return jobs.every(job => job.conclusion === 'skipped') ? 'skipped' : 'success'
  return result as 'success' | 'failure' | 'cancelled'
}

/** Workflow keys to API names, without the OIDC one; an untrusted run keeps reads only. */
function tokenPermissions(declared: JobPermissions, untrusted: boolean): Permissions {
  const entries = Object.entries(declared)
    .filter(([name, level]) => name !== 'id-token' && level !== 'none')
    .map(([name, level]) => [name.replaceAll('-', '_'), untrusted ? 'read' : level] as const)
  return { metadata: 'read', ...Object.fromEntries(entries) } as Permissions
}

/** The jobs of the first attempt, all queued. */
export function firstJobs(world: World, run: number, workflow: Workflow): JobAttempt[] {
  return Object.entries(workflow.jobs).flatMap(([key, definition]) =>
    combinations(definition).map(matrix =>
      queuedJob(world, { run, attempt: 1, key, name: jobName(key, definition, matrix), matrix, definition }),
    ),
  )
}

export function queuedJob(
  world: World,
  job: Pick<JobAttempt, 'run' | 'attempt' | 'key' | 'name' | 'matrix' | 'definition'>,
): JobAttempt {
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
    workspace: null,
    temp: null,
    runnerName: null,
    orphans: [],
    carried: false,
  }
}

/** The jobs of the next attempt: those to repeat queued again under new ids, the others carried over under new ids. */
export function nextJobs(world: World, previous: RunAttempt, repeat: ReadonlySet<JobAttempt>): JobAttempt[] {
  return previous.jobs.map(job =>
    repeat.has(job)
      ? queuedJob(world, { ...job, attempt: previous.number + 1 })
      : { ...job, id: world.id(), attempt: previous.number + 1, carried: true },
  )
}

/** The given jobs and every job that needs one of them, directly or not. */
export function withDependents(jobs: readonly JobAttempt[], chosen: readonly JobAttempt[]): Set<JobAttempt> {
  const result = new Set(chosen)
  for (let grew = true; grew; ) {
    grew = false
    const keys = new Set([...result].map(job => job.key))
    for (const job of jobs) {
      if (!result.has(job) && job.definition.needs?.some(need => keys.has(need))) {
        result.add(job)
        grew = true
      }
    }
  }
  return result
}
