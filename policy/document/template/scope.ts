import type { Json, JsonObject } from '../../json.ts'
import type { Reference } from './expression.ts'

/** What templates may read at one moment of a run. */
export interface Scope {
  inputs: JsonObject
  vars: JsonObject
  memory: JsonObject
  tasks: { readonly [id: string]: { output: Json } }
  /** What stands before the ids that templates name, within a sub-workflow; absent = nothing. */
  prefix?: string
  /** `loop.output`, for a loop's guard. */
  loop?: { output: Json }
}

export type Lookup = { ok: true; value: Json } | { ok: false; message: string }

/** The value that a reference names. Missing differs from null: it fails and says how far the path led. */
export function lookUp(reference: Reference, scope: Scope): Lookup {
  const start = startOf(reference, scope)
  if (!start.ok) return start
  let { value, walked } = start
  for (const key of reference.path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) {
      return { ok: false, message: `\`${reference.text}\` is missing: \`${walked}\` has no \`${key}\`` }
    }
    value = value[key] ?? null
    walked += `.${key}`
  }
  return { ok: true, value }
}

type Start = { ok: true; value: Json; walked: string } | { ok: false; message: string }

function startOf({ root, task, text }: Reference, scope: Scope): Start {
  if (task !== null) {
    const id = (scope.prefix ?? '') + task
    if (!Object.hasOwn(scope.tasks, id))
      return { ok: false, message: `\`${text}\`: task \`${task}\` has no output yet` }
    return { ok: true, value: scope.tasks[id]?.output ?? null, walked: `tasks.${task}.output` }
  }
  if (root === 'loop') {
    if (scope.loop !== undefined) return { ok: true, value: scope.loop.output, walked: 'loop.output' }
    return { ok: false, message: `\`${text}\` can be read in \`while\` of a loop only` }
  }
  const value = root === 'inputs' ? scope.inputs : root === 'vars' ? scope.vars : scope.memory
  return { ok: true, value, walked: root }
}
