import type { Contexts } from './expressions.ts'
import { type Combination, combinations, jobName, type StrategyContext, strategyContext } from './matrix.ts'
import type { CallJob, Job, JobPermissions, Workflow } from './workflow.ts'

/** One call of a reusable workflow by a job, of one matrix combination. */
export interface CallInstance {
  /** Keys of the calling jobs from the top, `#n` after one of a matrix. */
  path: string
  /** Key of the calling job in its own workflow. */
  key: string
  /** What the names of its jobs begin with. */
  name: string
  definition: CallJob
  workflow: Workflow
  matrix: Combination | null
  strategy: StrategyContext
  /** What its jobs may ask for at most. */
  permissions: JobPermissions
  parent: CallInstance | null
}

/** One job of a run, before its first attempt. */
export interface JobSeed {
  group: string
  key: string
  name: string
  matrix: Combination | null
  strategy: StrategyContext
  definition: Job
  call: CallInstance | null
  permissions: JobPermissions
}

/** Levels of workflows, the top-level one included: https://docs.github.com/en/actions/reference/reusable-workflows-reference#limitations */
const LEVELS = 4
const RESTRICTED: JobPermissions = { contents: 'read', packages: 'read' }
const RANK = { none: 0, read: 1, write: 2 }

export const isCall = (job: Job | CallJob): job is CallJob => 'uses' in job

/**
 * All jobs of a workflow and of those that it calls. Throws where GitHub ends the run with `startup_failure`: that is a fault
 * of the test's workflow.
 */
export function expand(
  workflow: Workflow,
  find: (path: string) => Workflow | undefined,
  contexts: Contexts,
  call: CallInstance | null = null,
): JobSeed[] {
  return Object.entries(workflow.jobs).flatMap(([key, definition]) => {
    const group = call === null ? key : `${call.path}/${key}`
    const permissions = permissionsOf(workflow, key, definition, call)
    const all = combinations(definition.strategy)
    return all.flatMap((matrix, index) => {
      const strategy = strategyContext(definition.strategy, index, all.length)
      const own = jobName(key, definition.name, matrix, { ...contexts, strategy })
      const name = call === null ? own : `${call.name} / ${own}`
      const common = { key, name, matrix, strategy, permissions }
      if (!isCall(definition)) return [{ ...common, group, definition, call }]
      const called = calledWorkflow(definition, find, call)
      const path = matrix === null ? group : `${group}#${index}`
      return expand(called, find, contexts, { ...common, path, definition, workflow: called, parent: call })
    })
  })
}

function calledWorkflow(
  definition: CallJob,
  find: (path: string) => Workflow | undefined,
  call: CallInstance | null,
): Workflow {
  const depth = callers(call).length + 2
  if (depth > LEVELS)
    throw new Error(`${definition.uses} would be level ${depth} of workflows; GitHub connects at most ${LEVELS}`)
  const called = find(definition.uses.replace(/^\.\//, ''))
  if (!called) throw new Error(`error parsing called workflow "${definition.uses}": workflow was not found.`)
  if (!called.on.includes('workflow_call'))
    throw new Error(
      `error parsing called workflow "${definition.uses}": workflow is not reusable as it is missing a \`on.workflow_call\` trigger`,
    )
  const { inputs = {}, secrets = {} } = called.call ?? {}
  for (const name of Object.keys(definition.with ?? {}))
    if (!(name in inputs)) throw new Error(`Invalid input, ${name} is not defined in the referenced workflow.`)
  for (const [name, { required }] of Object.entries(inputs))
    if (required === true && !(name in (definition.with ?? {})))
      throw new Error(`Input ${name} is required, but not provided while calling.`)
  if (definition.secrets === 'inherit') return called
  for (const [name, { required }] of Object.entries(secrets))
    if (required === true && !(name in (definition.secrets ?? {})))
      throw new Error(`Secret ${name} is required, but not provided while calling.`)
  return called
}

/** The calls that lead to this one, itself first. */
export function callers(call: CallInstance | null): CallInstance[] {
  const chain: CallInstance[] = []
  for (let at = call; at !== null; at = at.parent) chain.push(at)
  return chain
}

/** A called workflow's jobs may ask for no more than the calling job has: actions/runner issue 4151 has the words. */
function permissionsOf(
  workflow: Workflow,
  key: string,
  definition: Job | CallJob,
  call: CallInstance | null,
): JobPermissions {
  const declared = definition.permissions ?? workflow.permissions
  if (call === null) return declared ?? RESTRICTED
  for (const [name, level] of Object.entries(declared ?? {})) {
    const most = call.permissions[name] ?? 'none'
    if (RANK[level] > RANK[most])
      throw new Error(
        `Error calling workflow '${workflow.path}'. The nested job '${key}' is requesting '${name}: ${level}', but is only allowed '${name}: ${most}'.`,
      )
  }
  return declared ?? call.permissions
}
