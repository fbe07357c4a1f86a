import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Contexts, interpolate } from './expressions.ts'

/** What a runner reads of action.yml. */
export interface ActionFile {
  directory: string
  main: string
  post: string | null
  inputs: { [name: string]: { default?: string } }
  outputs: string[]
}

export function readAction(directory: string): ActionFile {
  const file = ['action.yml', 'action.yaml'].map(name => join(directory, name)).find(existsSync)
  if (!file) throw new Error(`Can't find 'action.yml' or 'action.yaml' under '${directory}'.`)
  const value = parse(readFileSync(file, 'utf8')) as {
    runs: { using: string; main: string; post?: string }
    inputs?: { [name: string]: { default?: unknown } | null }
    outputs?: object
  }
  if (!/^node\d+$/.test(value.runs.using)) throw new Error(`the double runs node actions only, not ${value.runs.using}`)
  const inputs = Object.entries(value.inputs ?? {}).map(([name, input]) => {
    const text = input?.default
    return [name, text === undefined || text === null ? {} : { default: String(text) }] as const
  })
  return {
    directory,
    main: join(directory, value.runs.main),
    post: value.runs.post === undefined ? null : join(directory, value.runs.post),
    inputs: Object.fromEntries(inputs),
    outputs: Object.keys(value.outputs ?? {}),
  }
}

/** INPUT_* of a step: declared inputs with their defaults, then what the workflow gives; spaces become `_`, dashes stay. */
export function inputEnvironment(
  action: ActionFile,
  given: { readonly [input: string]: string | number | boolean },
  contexts: Contexts,
): { [name: string]: string } {
  const values = new Map<string, string>()
  for (const [name, { default: text }] of Object.entries(action.inputs))
    values.set(name.toLowerCase(), interpolate(text ?? '', contexts))
  for (const [name, value] of Object.entries(given))
    values.set(name.toLowerCase(), interpolate(String(value), contexts))
  return Object.fromEntries(
    [...values].map(([name, value]) => [`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`, value]),
  )
}
