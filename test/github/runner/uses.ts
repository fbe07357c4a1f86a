import { join } from 'node:path'
import {
  type ActionFile,
  type CompositeAction,
  inputEnvironment,
  inputValues,
  type NodeAction,
  readAction,
  unexpectedInputs,
} from './action.ts'
import { interpolate } from './expressions.ts'
import { performPosts } from './posts.ts'
import { contextsOf, type Post, type StepScope } from './scope.ts'
import type { StepResult } from './step.ts'
import { stepEnvironment, stepProcess } from './step-process.ts'
import { runSteps } from './steps.ts'
import type { ActionStep } from './workflow.ts'

const never = new AbortController().signal

/** Runs an action: its process, or the steps of a composite one. Throws where it cannot be read. */
export async function runUses(
  step: ActionStep,
  where: StepScope,
  result: StepResult,
  signal: AbortSignal,
): Promise<void> {
  const { directory, repository, ref } = locate(step.uses, where)
  const action = readAction(directory)
  const odd = unexpectedInputs(action, step.with ?? {})
  if (odd !== null) result.annotations.push({ level: 'warning', message: odd })
  const inputs = inputValues(action, step.with ?? {}, contextsOf(where))
  if (action.runs.using === 'composite') return runComposite(action, action.runs, inputs, where, result)
  const env = {
    ...stepEnvironment(where),
    GITHUB_ACTION_REPOSITORY: repository,
    GITHUB_ACTION_REF: ref,
    ...inputEnvironment(inputs),
  }
  await runNode(action.runs, env, where, result, signal)
}

function locate(uses: string, where: StepScope): { directory: string; repository: string; ref: string } {
  const { ports, places } = where.job
  if (uses === 'agentctl' || uses.startsWith('org/agentctl@'))
    return { directory: ports.actionDirectory, repository: 'org/agentctl', ref: uses.split('@')[1] ?? 'v1' }
  // Also within an action a path is one of the workspace, never of the action's own repository.
  if (uses.startsWith('./')) return { directory: join(places.workspace, uses), repository: '', ref: '' }
  const directory = ports.actions[uses]
  if (directory === undefined) throw new Error(`Unable to resolve action ${uses}, repository not found`)
  return { directory, repository: uses.split('@')[0] ?? '', ref: uses.split('@')[1] ?? '' }
}

async function runNode(
  action: NodeAction,
  env: { readonly [name: string]: string },
  where: StepScope,
  result: StepResult,
  signal: AbortSignal,
): Promise<void> {
  const { ports } = where.job
  if (action.post !== null) where.posts.push(postOf(action.post, action.postIf, env, where, result))
  await stepProcess(where, result, { command: ports.node, args: [action.main], env, phase: 'main', signal })
}

/** A post step sees the state that main saved. Neither a cancel nor a timeout of its step stops it. */
function postOf(
  script: string,
  condition: string | undefined,
  env: { readonly [name: string]: string },
  where: StepScope,
  result: StepResult,
): Post {
  return {
    condition,
    perform: async () => {
      const state = Object.entries(result.state).map(([key, value]) => [`STATE_${key}`, value] as const)
      const before = result.conclusion
      const { node, stop } = where.job.ports
      await stepProcess(where, result, {
        command: node,
        args: [script],
        env: { ...env, ...Object.fromEntries(state) },
        phase: 'post',
        signal: stop.forced.aborted ? stop.forced : never,
      })
      if (before === 'success' && result.conclusion !== 'success') where.job.failed = true
    },
  }
}

/**
 * The steps of a composite action (actions/runner src/Runner.Worker/Handlers/CompositeActionHandler.cs): own `inputs` and
 * `steps`, one step to the job, posts of nested actions together and in reverse.
 */
async function runComposite(
  action: ActionFile,
  runs: CompositeAction,
  inputs: ReadonlyMap<string, string>,
  where: StepScope,
  result: StepResult,
): Promise<void> {
  result.kind = 'composite'
  const posts: Post[] = []
  const within: StepScope = {
    ...where,
    action,
    inputs: Object.fromEntries(inputs),
    finished: {},
    failed: false,
    posts,
    prefix: `${result.id}.`,
  }
  const gather = () => {
    const text = (of: 'log' | 'raw' | 'summary') => result.nested.map(nested => nested[of]).join('')
    const annotations = result.nested.flatMap(nested => nested.annotations)
    Object.assign(result, { log: text('log'), raw: text('raw'), summary: text('summary'), annotations })
  }
  await runSteps(runs.steps, within, nested => void result.nested.push(nested))
  gather()
  if (posts.length > 0)
    where.posts.push({ condition: 'always()', perform: () => performPosts(posts, within).then(gather) })
  const contexts = contextsOf(within)
  result.outputs = Object.fromEntries(
    Object.entries(runs.outputs).map(([name, value]) => [name, interpolate(value, contexts)]),
  )
  const ends = result.nested.map(({ conclusion }) => conclusion)
  result.conclusion = ends.includes('failure') ? 'failure' : ends.includes('cancelled') ? 'cancelled' : 'success'
  result.completedAt = where.job.ports.world.now()
}
