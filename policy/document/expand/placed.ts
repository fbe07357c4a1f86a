import type { JsonObject } from '../../json.ts'
import type { CompiledTask } from '../compile/work.ts'
import type { PlanControl, PlanIteration, PlanRoute, PlanScope } from '../plan.ts'
import type { Scope } from '../template/scope.ts'

/** One task of the plan before its action and limits are filled in. */
export interface Placed {
  id: string
  /** The declared task that it comes from. */
  compiled: CompiledTask
  needs: string[]
  when: string | null
  /** Its own variables. */
  vars: JsonObject
  /** Written input of a control task; that of an action is made from `compiled`. */
  with: JsonObject
  failure: 'stop' | 'continue'
  control?: PlanControl
  bindings?: JsonObject
  iteration?: PlanIteration
  scope?: PlanScope
  routes?: PlanRoute[]
  /** What its templates can read that is known before the run exists. */
  known(): Scope
}

/** Whether expansion made it: its id is not one that the document declares. */
export function isExpanded({ bindings, control, iteration, scope }: Placed): boolean {
  return (bindings ?? control ?? iteration ?? scope) !== undefined
}
