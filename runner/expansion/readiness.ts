import { membersOf } from '../../policy/document/collected.ts'
import type { PlanTask } from '../../policy/document/plan.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import type { Move } from '../moves.ts'
import { isOver, type RunState } from '../state.ts'

export type Readiness = 'ready' | 'blocked' | Move

/**
 * What the tasks before it make of a task: skipped after a skipped one or where no router chose it, cancelled after one
 * that did not succeed. A task that collects results waits for them and takes them as they are.
 */
export function readinessOf(state: RunState, id: string): Readiness {
  const task = state.task(id)
  const members = new Set(membersOf(task.control))
  let blocked = false
  let skipped = ''
  for (const need of task.needs) {
    const { state: before } = state.status(need)
    if (members.has(need)) {
      // An uncertain one may still become either.
      blocked ||= !isOver(before) || before === 'uncertain'
      continue
    }
    switch (before) {
      case 'succeeded':
        break
      case 'skipped':
        skipped ||= need
        break
      case 'failed':
      case 'denied':
      case 'uncertain':
      case 'cancelled':
        return { to: 'cancelled', error: { code: 'dependency', message: `task ${need} did not succeed` } }
      default:
        blocked = true
    }
  }
  if (blocked) return 'blocked'
  if (skipped !== '') return { to: 'skipped', output: { reason: `task ${skipped} was skipped` } }
  return unchosen(state, task) ?? 'ready'
}

/** Why no router leads to a task; null where every one that could does. */
export function unchosen(state: RunState, { routes = [] }: PlanTask): Move | null {
  for (const { router, destination } of routes) {
    const { selected = null, destinations = [] } = asObject(state.outputs[router]?.output)
    if (Array.isArray(destinations) && destinations.includes(destination)) continue
    const output = { reason: `router ${router} did not choose ${destination}`, router, selected }
    return { to: 'skipped', output }
  }
  return null
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}
