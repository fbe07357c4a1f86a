import type { CallInstance } from './expand.ts'
import { type Contexts, interpolate } from './expressions.ts'
import type { CallInterface } from './workflow.ts'

/** What a called workflow's jobs see. */
export interface CallContext {
  inputs: { readonly [name: string]: unknown }
  secrets: { readonly [name: string]: string }
}

/** Inputs by their declared types and the secrets that the caller passes on. */
export function callContext(
  call: CallInstance,
  contexts: Contexts,
  secrets: { readonly [name: string]: string },
): CallContext {
  const { inputs = {} } = call.workflow.call ?? {}
  const given = call.definition.with ?? {}
  const values = Object.entries(inputs).map(([name, declared]) => {
    const value = given[name] ?? declared.default ?? empty[declared.type]
    return [name, typeof value === 'string' ? typed(interpolate(value, contexts), declared.type) : value] as const
  })
  return { inputs: Object.fromEntries(values), secrets: passedOn(call, { ...contexts, secrets }, secrets) }
}

const empty = { string: '', boolean: false, number: 0 }

function typed(text: string, type: keyof typeof empty): string | boolean | number {
  if (type === 'boolean') return text === 'true'
  return type === 'number' ? Number(text) : text
}

function passedOn(
  call: CallInstance,
  contexts: Contexts,
  own: { readonly [name: string]: string },
): { [name: string]: string } {
  const { secrets } = call.definition
  if (secrets === 'inherit') return { ...own }
  return Object.fromEntries(Object.entries(secrets ?? {}).map(([name, value]) => [name, interpolate(value, contexts)]))
}

/** Outputs of a called workflow, from those of its jobs. */
export const callOutputs = (
  { outputs = {} }: CallInterface,
  jobs: { readonly [key: string]: { outputs: { readonly [name: string]: string }; result: string } },
): { [name: string]: string } =>
  Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, interpolate(value, { jobs })]))
