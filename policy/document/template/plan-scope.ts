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

/**
 * What the templates of a task may read: the plan's variables, over them the task's own, resolved once, over them what
 * expansion bound. Within a sub-workflow, inputs and tasks are its own.
 */
export function scopeOfTask(plan: Plan, task: PlanTask, state: RunState): ScopeResult {
  const base = baseOf(plan, task, withOwnOutput(task, state))
  if (!base.ok) return base
  const { scope } = base
  const bindings = { ...task.bindings, ...(task.iteration !== undefined && { loopIndex: task.iteration.index }) }
  const own = resolveValue(task.vars, { ...scope, vars: bindings })
  if (!own.ok) return own
  const vars = { ...plan.vars, ...(own.value as JsonObject), ...bindings }
  if (task.iteration === undefined) return { ok: true, scope: { ...scope, vars } }

  const previous = previousOf(task.iteration, { ...scope, vars })
  if (!previous.ok) return previous
  const { output } = previous
  // An iteration that is looked at ahead of its turn has no output before it yet.
  if (output === undefined) return { ok: true, scope: { ...scope, vars } }
  return { ok: true, scope: { ...scope, vars: { ...vars, loopPrevious: output }, loop: { output } } }
}

/** A compensation reads the task that it undoes under the name that the document gave it, whatever it was expanded to. */
function withOwnOutput({ compensates }: PlanTask, state: RunState): RunState {
  const own = compensates === undefined ? undefined : state.tasks[compensates.task]
  if (compensates === undefined || own === undefined) return state
  return { ...state, tasks: { ...state.tasks, [compensates.name]: own } }
}

/** What the templates of the final outputs may read. */
export function scopeOfOutputs(plan: Plan, state: RunState): Scope {
  return { inputs: plan.inputs, vars: plan.vars, ...state }
}

function baseOf(plan: Plan, { scope }: PlanTask, state: RunState): ScopeResult {
  const { memory, tasks } = state
  if (scope === undefined) return { ok: true, scope: { inputs: plan.inputs, vars: {}, memory, tasks } }
  const inputs = Object.hasOwn(tasks, scope.inputs) ? tasks[scope.inputs]?.output : undefined
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs))
    return { ok: false, message: `task \`${scope.inputs}\` has not given the inputs yet` }
  return { ok: true, scope: { inputs, vars: {}, memory, tasks, prefix: scope.prefix } }
}

type Previous = { ok: true; output: Json | undefined } | { ok: false; message: string }

function previousOf({ previous, initial }: NonNullable<PlanTask['iteration']>, scope: Scope): Previous {
  if (previous !== null)
    return { ok: true, output: Object.hasOwn(scope.tasks, previous) ? scope.tasks[previous]?.output : undefined }
  const resolved = resolveValue(initial, scope)
  return resolved.ok ? { ok: true, output: resolved.value } : { ok: false, message: `initial: ${resolved.message}` }
}
