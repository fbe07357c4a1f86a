import type { Json, JsonObject } from '../../json.ts'
import type { CompiledTask, Work } from '../compile/work.ts'
import { resolveValue } from '../template/resolve.ts'
import type { Scope } from '../template/scope.ts'
import { holdsAnyTemplate } from '../template/template.ts'

/** Inputs and variables as far as they are known before the run exists; memory and tasks never are. */
export function knownScope(work: Work, inputs: JsonObject, compiled: CompiledTask, bindings: JsonObject = {}): Scope {
  const base = { inputs, memory: {}, tasks: {} }
  const own: JsonObject = {}
  for (const [name, value] of Object.entries(compiled.vars)) {
    const resolved = resolveValue(value, { ...base, vars: bindings })
    if (resolved.ok) own[name] = resolved.value
  }
  const vars: JsonObject = { ...work.vars }
  // What a task's own variable gives in the run must not be taken from a lower level here.
  for (const name of Object.keys(compiled.vars)) delete vars[name]
  return { ...base, vars: { ...vars, ...own, ...bindings } }
}

/** The members of an object that are known before the run exists, templates replaced. */
export function knownMembers(value: JsonObject, scope: Scope): JsonObject {
  const known: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const resolved: { ok: boolean; value?: Json } = holdsAnyTemplate(member)
      ? resolveValue(member, scope)
      : { ok: true, value: member }
    if (resolved.ok && resolved.value !== undefined) known[name] = resolved.value
  }
  return known
}
