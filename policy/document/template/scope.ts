import type { Json, JsonObject } from '../../json.ts'
import type { Reference } from './expression.ts'

/** What templates may read at one moment of a run. */
export interface Scope {
  inputs: JsonObject
  vars: JsonObject
  memory: JsonObject
  tasks: { readonly [id: string]: { output: Json } }
}

export type Lookup = { ok: true; value: Json } | { ok: false; message: string }

/** The value that a reference names. Missing differs from null: it fails and says how far the path led. */
export function lookUp(reference: Reference, scope: Scope): Lookup {
  let value: Json
  let walked: string
  if (reference.task === null) {
    value = reference.root === 'inputs' ? scope.inputs : reference.root === 'vars' ? scope.vars : scope.memory
    walked = reference.root
  } else {
    if (!Object.hasOwn(scope.tasks, reference.task)) {
      return { ok: false, message: `\`${reference.text}\`: task \`${reference.task}\` has no output yet` }
    }
    value = scope.tasks[reference.task]?.output ?? null
    walked = `tasks.${reference.task}.output`
  }
  for (const key of reference.path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) {
      return { ok: false, message: `\`${reference.text}\` is missing: \`${walked}\` has no \`${key}\`` }
    }
    value = value[key] ?? null
    walked += `.${key}`
  }
  return { ok: true, value }
}
