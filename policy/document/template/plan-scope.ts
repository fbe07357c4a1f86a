import type { Json, JsonObject } from '../../json.ts'
import type { Plan, PlanTask } from '../plan.ts'
import { resolveValue } from './resolve.ts'
import type { Scope } from './scope.ts'

export type ScopeResult = { ok: true; scope: Scope } | { ok: false; message: string }

/** What a run knows when a task is about to start. */
export interface RunState {
  memory: JsonObject
  tasks: { readonly [id: string]: { output: Json } }
}

/** What the templates of a task may read: the plan's variables with the task's own, resolved once, over them. */
export function scopeOfTask(plan: Plan, task: PlanTask, state: RunState): ScopeResult {
  const vars = resolveValue(task.vars, { inputs: plan.inputs, vars: {}, ...state })
  if (!vars.ok) return vars
  const own = vars.value as JsonObject
  return { ok: true, scope: { inputs: plan.inputs, vars: { ...plan.vars, ...own }, ...state } }
}

/** What the templates of the final outputs may read. */
export function scopeOfOutputs(plan: Plan, state: RunState): Scope {
  return { inputs: plan.inputs, vars: plan.vars, ...state }
}
