import type { RunContext } from '../context.ts'
import type { RunState } from '../state.ts'

/** What compensation came to, by the tasks to undo: those that are undone, and those that are not. */
function standing(state: RunState): { undone: string[]; left: string[] } {
  const undone = new Set<string>()
  const asked = new Set<string>()
  for (const [id, status] of state.tasks) {
    const task = state.task(id).compensates?.task
    if (task === undefined) continue
    asked.add(task)
    if (status.state === 'succeeded') undone.add(task)
  }
  return { undone: [...undone], left: [...asked].filter(task => !undone.has(task)) }
}

/** What a person should know of compensation at the end of a run that did not succeed. */
export function compensationMessages({ run, plan, state }: Pick<RunContext, 'run' | 'plan' | 'state'>): string[] {
  if (plan.compensation === undefined) return []
  const again = `agentctl compensate ${run}`
  if (!state.compensating) {
    const open = plan.order.filter(
      id => state.status(id).state === 'succeeded' && state.task(id).compensate !== undefined,
    )
    return open.length === 0 ? [] : [`what succeeded can be undone (${open.join(', ')}): ${again}`]
  }
  const { undone, left } = standing(state)
  const done = undone.length === 0 ? [] : [`compensated: ${undone.join(', ')}`]
  const rest =
    left.length === 0 ? [] : [`not compensated: ${left.join(', ')}; once what stopped it is removed: ${again}`]
  return [...done, ...rest]
}
