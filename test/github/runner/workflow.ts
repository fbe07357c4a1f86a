import type { RunContext } from './step.ts'

/** Workflow files as plain data: the subset of GitHub's syntax that matters here, in its own key names. */
export interface Workflow {
  name: string
  /** Workspace-relative, for example `.github/workflows/release.yml`. */
  path: string
  on: readonly string[]
  /** Declared inputs of workflow_dispatch; an undeclared one is refused with 422, as GitHub does. */
  inputs?: { readonly [name: string]: { required?: boolean; default?: string } }
  /** What a `workflow_call` takes and gives. */
  call?: CallInterface
  /** Missing means GitHub's restricted default (contents and packages read). `id-token: write` gives the OIDC variables. */
  permissions?: JobPermissions
  concurrency?: { group: string; 'cancel-in-progress'?: boolean }
  jobs: { readonly [id: string]: Job | CallJob }
}

/** `on.workflow_call` of a reusable workflow. */
export interface CallInterface {
  inputs?: {
    readonly [name: string]: {
      type: 'string' | 'boolean' | 'number'
      required?: boolean
      default?: string | boolean | number
    }
  }
  secrets?: { readonly [name: string]: { required?: boolean } }
  /** Templates over `jobs`. */
  outputs?: { readonly [name: string]: { value: string } }
}

/** Keys as in a workflow file: `id-token`, `pull-requests`, `contents`. */
export interface JobPermissions {
  readonly [name: string]: 'read' | 'write' | 'none'
}

export interface Strategy {
  /** Axes by name; `include` and `exclude` are lists of combinations. */
  matrix: { readonly [axis: string]: readonly MatrixValue[] }
  /** GitHub cancels the siblings of a failed job unless this is false: so does the double. */
  'fail-fast'?: boolean
  'max-parallel'?: number
}

export type MatrixValue = string | number | boolean | { readonly [key: string]: MatrixValue }

interface AnyJob {
  name?: string
  needs?: readonly string[]
  /** An expression with or without `${{ }}`. Missing means `success()`. */
  if?: string
  permissions?: JobPermissions
  strategy?: Strategy
}

export interface Job extends AnyJob {
  environment?: string
  /** Files come from the repository at the run's commit; false leaves the workspace empty (no checkout step). */
  checkout?: boolean
  env?: { readonly [name: string]: string }
  /** Templates over `steps`. Missing: every output of every step, a later step's wins. */
  outputs?: { readonly [name: string]: string }
  'timeout-minutes'?: number
  steps: readonly Step[]
}

/** A job that calls a reusable workflow of the same repository. */
export interface CallJob extends AnyJob {
  /** `./.github/workflows/x.yml` */
  uses: string
  with?: { readonly [input: string]: string | number | boolean }
  secrets?: 'inherit' | { readonly [name: string]: string }
  /** It has none of its own. */
  steps: readonly []
}

export type Step = ActionStep | ScriptStep | ShellStep

interface StepBase {
  id?: string
  name?: string
  /** An expression with or without `${{ }}`. Missing means `success()`. */
  if?: string
  env?: { readonly [name: string]: string }
  'continue-on-error'?: boolean
  'timeout-minutes'?: number
}

/**
 * Runs an action as its own process: `agentctl` (or `org/agentctl@v1`) is the one whose action.yml the double was started
 * with, `./path` one of the workspace, anything else one that the double was given by that name.
 */
export interface ActionStep extends StepBase {
  uses: string
  with?: { readonly [input: string]: string | number | boolean }
}

/** Anything else a job does, in process: it sees the job's environment, workspace and earlier outputs; a throw fails the step. */
export interface ScriptStep extends StepBase {
  run: (context: RunContext) => void | Promise<void>
}

/** A script as its own process. */
export interface ShellStep extends StepBase {
  run: string
  /** Default bash. */
  shell?: 'bash' | 'sh'
}
