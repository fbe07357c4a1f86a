import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Contexts, interpolate } from './expressions.ts'
import type { ActionStep, ShellStep } from './workflow.ts'

/** What a runner reads of action.yml. */
export interface ActionFile {
  directory: string
  inputs: { [name: string]: { default?: string } }
  runs: NodeAction | CompositeAction
}

export interface NodeAction {
  using: 'node'
  main: string
  post: string | null
  /** `post-if`, an expression; missing is `always()`. */
  postIf: string | undefined
}

export interface CompositeAction {
  using: 'composite'
  steps: (ActionStep | ShellStep)[]
  /** Templates over the action's own `steps`. */
  outputs: { [name: string]: string }
}

interface Manifest {
  runs: { using: string; main?: string; post?: string; 'post-if'?: string; steps?: (ActionStep | ShellStep)[] }
  inputs?: { [name: string]: { default?: unknown } | null }
  outputs?: { [name: string]: { value?: string } }
}

/** Throws the runner's words where there is no action, and the double's own where it is of a kind that it does not run. */
export function readAction(directory: string): ActionFile {
  const file = ['action.yml', 'action.yaml'].map(name => join(directory, name)).find(existsSync)
  if (!file) throw new Error(`Can't find 'action.yml' or 'action.yaml' under '${directory}'.`)
  const { runs, inputs = {}, outputs = {} } = parse(readFileSync(file, 'utf8')) as Manifest
  const defaults = Object.entries(inputs).map(([name, input]) => {
    const text = input?.default
    return [name, text === undefined || text === null ? {} : { default: String(text) }] as const
  })
  return { directory, inputs: Object.fromEntries(defaults), runs: howItRuns(directory, runs, outputs) }
}

function howItRuns(
  directory: string,
  runs: Manifest['runs'],
  outputs: NonNullable<Manifest['outputs']>,
): ActionFile['runs'] {
  if (runs.using === 'composite') {
    const values = Object.entries(outputs).map(([name, { value = '' }]) => [name, value] as const)
    const steps = runs.steps ?? []
    for (const step of steps)
      if ('run' in step && step.shell === undefined)
        throw new Error(`Required property is missing: shell (in ${directory})`)
    return { using: 'composite', steps, outputs: Object.fromEntries(values) }
  }
  if (!/^node\d+$/.test(runs.using) || runs.main === undefined)
    throw new Error(`the double runs node and composite actions only, not ${runs.using}`)
  const post = runs.post === undefined ? null : join(directory, runs.post)
  return { using: 'node', main: join(directory, runs.main), post, postIf: runs['post-if'] }
}

/** Values of an action's inputs by lower-case name: declared ones with their defaults, then what the workflow gives. */
export function inputValues(
  action: ActionFile,
  given: { readonly [input: string]: string | number | boolean },
  contexts: Contexts,
): Map<string, string> {
  const values = new Map<string, string>()
  for (const [name, { default: text }] of Object.entries(action.inputs))
    values.set(name.toLowerCase(), interpolate(text ?? '', contexts))
  for (const [name, value] of Object.entries(given))
    values.set(name.toLowerCase(), interpolate(String(value), contexts))
  return values
}

/** INPUT_* of a node action; spaces become `_`, dashes stay. */
export const inputEnvironment = (values: ReadonlyMap<string, string>): { [name: string]: string } =>
  Object.fromEntries([...values].map(([name, value]) => [`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`, value]))

/** What the runner warns of, or null: actions/runner src/Runner.Worker/ActionRunner.cs. */
export function unexpectedInputs(action: ActionFile, given: object): string | null {
  const valid = Object.keys(action.inputs)
  const odd = Object.keys(given).filter(name => !valid.some(one => one.toLowerCase() === name.toLowerCase()))
  return odd.length === 0
    ? null
    : `Unexpected input(s) '${odd.join("', '")}', valid inputs are ['${valid.join("', '")}']`
}
