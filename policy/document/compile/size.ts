import { canonical } from '../../canonical.ts'
import type { JsonObject } from '../../json.ts'
import { isExpanded } from '../expand/placed.ts'
import { documentLimits } from '../limits.ts'
import type { Planned } from './planned.ts'
import { tasksOf, type Work } from './work.ts'

/** What many tasks share counts once for each in the plan, so a small document could make a huge one. */
export function checkSize(work: Work, { tasks, from }: Planned): boolean {
  const sizes = new Map<object, number>()
  const sizeOf = (value: object | undefined): number => {
    if (value === undefined) return 0
    const known = sizes.get(value)
    if (known !== undefined) return known
    const size = canonical(value as JsonObject).length
    sizes.set(value, size)
    return size
  }
  let size = 0
  for (const { action, compensation } of tasksOf(work))
    size += sizeOf(action?.definition.with) + sizeOf(compensation?.action?.definition.with)
  for (const [index, task] of tasks.entries()) {
    size += sizeOf(task.action) + sizeOf(task.compensate?.action)
    const placed = from[index]
    if (placed === undefined || !isExpanded(placed)) continue
    const { with: input, vars, needs, bindings, control, iteration } = task
    for (const part of [input, vars, needs, bindings, control, iteration, task.compensate?.with]) size += sizeOf(part)
  }
  if (size <= documentLimits.planCharacters) return true
  work.reporter.report(['spec', 'actions'], {
    code: 'schema_violation',
    message: `the plan would be larger than ${documentLimits.planCharacters} characters: each task repeats what its action declares`,
    help: 'move large values out of `with` and `args` of actions that many tasks use',
  })
  return false
}
