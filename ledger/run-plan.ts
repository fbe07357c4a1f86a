import { resultFault } from '../policy/document/output-fault.ts'
import type { Plan, PlanTask } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import type { RunSnapshot, TaskRecord } from './port.ts'

/** A compensation as it becomes a task of its run. */
export interface CompensationTask {
  id: string
  compensates: string
  needs: string[]
}

/** Id of what undoes a task; the second attempt to undo it, after one that failed, has its number. */
function compensationId(task: string, round: number): string {
  return `${task}--compensate${round === 1 ? '' : `-${round}`}`
}

/** Compensations that came to nothing: the task may be undone by another one. */
const open: ReadonlySet<string> = new Set(['failed', 'denied', 'cancelled'])

/**
 * What is left to undo of a run: each succeeded task that declares a compensation and has none that succeeded or is under
 * way, the last to end first, one after the other.
 */
export function compensationsOf({ plan, tasks }: Pick<RunSnapshot, 'plan' | 'tasks'>): CompensationTask[] {
  const planned = plan as unknown as Plan
  const rounds = new Map<string, TaskRecord[]>()
  for (const record of tasks)
    if (record.compensates !== undefined)
      rounds.set(record.compensates, [...(rounds.get(record.compensates) ?? []), record])
  const undone = tasks.filter(
    ({ task, state }) =>
      state === 'succeeded' &&
      planned.tasks[task]?.compensate !== undefined &&
      (rounds.get(task) ?? []).every(round => open.has(round.state)),
  )
  // Records stand in plan order, which also decides between tasks that ended together.
  const order = undone.reverse().sort((left, right) => compare(right.endedAt ?? '', left.endedAt ?? ''))
  const chain: CompensationTask[] = []
  for (const { task } of order) {
    const id = compensationId(task, (rounds.get(task)?.length ?? 0) + 1)
    const before = chain.at(-1)
    chain.push({ id, compensates: task, needs: before === undefined ? [] : [before.id] })
  }
  return chain
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** The plan with the compensations that have become tasks of the run, behind the others; the digests stay the stored plan's. */
export function withCompensations(plan: Plan, compensations: readonly CompensationTask[]): Plan {
  if (compensations.length === 0) return plan
  const tasks = compensations.map(one => asTask(plan, one))
  return {
    ...plan,
    order: [...plan.order, ...tasks.map(({ id }) => id)],
    tasks: { ...plan.tasks, ...Object.fromEntries(tasks.map(task => [task.id, task])) },
  }
}

/** The plan of a recorded run, as far as it has come. */
export function planOfRun({ plan, tasks }: Pick<RunSnapshot, 'plan' | 'tasks'>): Plan {
  const compensations = tasks.flatMap(({ task, compensates, needs }) =>
    compensates === undefined ? [] : [{ id: task, compensates, needs }],
  )
  return withCompensations(plan as unknown as Plan, compensations)
}

/**
 * Why a result that a person vouches for cannot stand as what an effect of a task gave: it becomes the task's output, so it
 * is held to the schemas that the run would have held it to. null where it can.
 */
export async function vouchedFault(snapshot: RunSnapshot, task: string, result: Json): Promise<string | null> {
  // A stored plan is what a job sent: one that is none has no schemas.
  const tasks = (planOfRun(snapshot) as Partial<Plan>).tasks ?? {}
  const planned = Object.hasOwn(tasks, task) ? tasks[task] : undefined
  return planned?.action === undefined ? null : resultFault(planned, result)
}

function asTask({ tasks }: Plan, { id, compensates, needs }: CompensationTask): PlanTask {
  const task = tasks[compensates]
  if (task?.compensate === undefined) throw new Error(`the plan has no compensation of task ${compensates}`)
  return { ...task.compensate, id, needs, source: task.source }
}
