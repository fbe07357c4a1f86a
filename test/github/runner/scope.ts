import type { World } from '../world.ts'
import type { ActionFile } from './action.ts'
import type { Shared } from './command-files.ts'
import type { JobStop } from './control.ts'
import type { JobPlaces } from './environment.ts'
import type { Contexts, Status } from './expressions.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'
import type { RunningProcess, StepConclusion, StepResult } from './step.ts'

/** What a job needs from outside itself. */
export interface JobPorts {
  world: World
  /** Directory of the double; each job attempt makes its own below it. */
  directory: string
  actionDirectory: string
  actions: { readonly [uses: string]: string }
  node: string
  extraEnvironment: { readonly [name: string]: string }
  /** `job.check_run_id` exists (not on GHES). */
  checkRunId: boolean
  token: string
  oidc: { url: string; token: string } | null
  /** github, inputs, secrets, needs, matrix, strategy. */
  contexts: Contexts
  stop: JobStop
  onProcess(process: RunningProcess): void
  survivor(kill: () => void): void
}

/** One job attempt while its steps run. */
export interface JobScope {
  run: WorkflowRun
  job: JobAttempt
  ports: JobPorts
  places: JobPlaces
  /** Variables of every step. */
  base: { readonly [name: string]: string }
  shared: Shared
  failed: boolean
  /** Post steps, the last registered first to run. */
  posts: Post[]
}

export interface Post {
  /** `post-if`. */
  condition: string | undefined
  perform(): Promise<void>
}

/** Outputs and ends of steps by id. */
export interface Finished {
  [id: string]: { outputs: { readonly [name: string]: string }; outcome: StepConclusion; conclusion: StepConclusion }
}

/** Where a step stands: in the job itself, or in a composite action. */
export interface StepScope {
  job: JobScope
  /** The step of the job that all this belongs to: GITHUB_ACTION of nested steps too (actions/runner pull 615). */
  top: string | null
  /** GITHUB_ACTION_PATH. */
  action: ActionFile | null
  inputs: { readonly [name: string]: unknown } | null
  /** Variables of the `env` of the steps around it. */
  env: { readonly [name: string]: string }
  finished: Finished
  failed: boolean
  /** Post steps of nested actions. */
  posts: Post[]
  /** Fires when a step around it has timed out. */
  timeout: AbortSignal | null
  /** Prefix of nested results' ids. */
  prefix: string
}

export function statusOf(where: StepScope): Status {
  const cancelled = where.job.ports.stop.cancelled.aborted
  return { success: !where.failed && !cancelled, failure: where.failed && !cancelled, cancelled }
}

export function contextsOf(where: StepScope): Contexts {
  const { run, job, ports, base, shared, places, failed } = where.job
  const status = ports.stop.cancelled.aborted ? 'cancelled' : failed ? 'failure' : 'success'
  return {
    ...ports.contexts,
    github: {
      ...(ports.contexts['github'] as object),
      token: ports.token,
      ...(where.action && { action_path: where.action.directory }),
      ...(where.top !== null && { action: where.top }),
    },
    secrets: { ...(ports.contexts['secrets'] as object | undefined), GITHUB_TOKEN: ports.token },
    job: { status, container: {}, ...(ports.checkRunId && { check_run_id: job.id }) },
    inputs: where.inputs ?? ports.contexts['inputs'] ?? run.inputs,
    steps: Object.fromEntries(Object.entries(where.finished).filter(([id]) => !id.startsWith('__'))),
    env: { ...job.definition.env, ...shared.environment, ...where.env },
    runner: { os: base['RUNNER_OS'], temp: places.temp },
  }
}

export function newResult(id: string, kind: StepResult['kind'], name: string, number: number, now: Date): StepResult {
  return {
    id,
    kind,
    name,
    number,
    conclusion: 'success',
    exitCode: null,
    signal: null,
    outputs: {},
    state: {},
    summary: '',
    annotations: [],
    log: '',
    raw: '',
    startedAt: now,
    completedAt: now,
    nested: [],
  }
}
