import type { RunContext } from './step.ts'

/** Workflow files as plain data: the subset of GitHub's syntax that matters here, in its own key names. */
export interface Workflow {
  name: string
  /** Workspace-relative, for example `.github/workflows/release.yml`. */
  path: string
  on: readonly string[]
  /** Declared inputs of workflow_dispatch; an undeclared one is refused with 422, as GitHub does. */
  inputs?: { readonly [name: string]: { required?: boolean; default?: string } }
  /** Missing means GitHub's restricted default (contents and packages read). `id-token: write` gives the OIDC variables. */
  permissions?: JobPermissions
  concurrency?: { group: string; 'cancel-in-progress'?: boolean }
  jobs: { readonly [id: string]: Job }
}

/** Keys as in a workflow file: `id-token`, `pull-requests`, `contents`. */
export interface JobPermissions {
  readonly [name: string]: 'read' | 'write' | 'none'
}

export interface Job {
  name?: string
  needs?: readonly string[]
  /** Missing means `success()`. */
  if?: 'always()' | 'success()' | 'failure()' | '!cancelled()'
  permissions?: JobPermissions
  environment?: string
  /** GitHub cancels the siblings of a failed job unless `fail-fast` is false: so does the double. */
  strategy?: {
    matrix: { readonly [axis: string]: readonly MatrixValue[] }
    'fail-fast'?: boolean
    'max-parallel'?: number
  }
  /** Files come from the repository at the run's commit; false leaves the workspace empty (no checkout step). */
  checkout?: boolean
  env?: { readonly [name: string]: string }
  steps: readonly Step[]
}

export type MatrixValue = string | number | boolean

export type Step = ActionStep | ScriptStep

interface StepBase {
  id?: string
  name?: string
  if?: 'always()' | 'success()' | 'failure()' | '!cancelled()'
  env?: { readonly [name: string]: string }
  'continue-on-error'?: boolean
}

/** Runs the action whose action.yml the double was started with, as its own process. */
export interface ActionStep extends StepBase {
  uses: 'agentctl'
  with?: { readonly [input: string]: string | number | boolean }
}

/** Anything else a job does, in process: it sees the job's environment, workspace and earlier outputs; a throw fails the step. */
export interface ScriptStep extends StepBase {
  run: (context: RunContext) => void | Promise<void>
}
