import type { Plan, PlanTask } from '../plan.ts'
import type { Reporter } from '../reporter.ts'
import { bounds } from '../schema/common.ts'
import type { Task } from '../schema/task.ts'
import type { Path } from '../yaml/tree.ts'
import type { Planned } from './planned.ts'
import type { CompiledTask, UsedAction, Work } from './work.ts'

/** What stands behind a task's id, with a number from the second time on, in the id of what undoes it. */
export const compensationSuffix = '--compensate'
/** Room for that number. */
const roundCharacters = 4

/**
 * What undoes a declared task, as a task of its own: it reads what the task could, and the task's own output. Null where
 * it uses no action that is known.
 */
export function compensationTask(
  { task, vars, index }: Pick<CompiledTask, 'task' | 'vars' | 'index'>,
  compensate: NonNullable<Task['compensate']>,
  { path, action, reporter }: { path: Path; action: UsedAction | null; reporter: Reporter },
): CompiledTask | null {
  const { uses, with: input, retry, timeoutSeconds } = compensate
  if (/^(agent|workflow):|^router$/.test(uses))
    reporter.report([...path, 'uses'], {
      code: 'schema_violation',
      message: `task \`${task.id}\` is compensated by \`${uses}\`; a compensation uses one action`,
      help: 'write action:NAME',
    })
  if (action === null) return null
  const undoing: Task = {
    id: task.id,
    uses,
    with: input,
    retry,
    failure: 'stop',
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  }
  return { index, path, task: undoing, vars, action, faulty: false }
}

/** Tells of each compensation whose id another task has, in this round or a later one, or whose id would be too long. */
export function checkCompensationIds({ reporter }: Work, { tasks, from }: Planned): void {
  if (!tasks.some(({ compensate }) => compensate !== undefined)) return
  const taken = new Set(tasks.map(({ id }) => id.replace(/-[0-9]+$/, '')))
  for (const { id } of tasks) taken.add(id)
  for (const [index, { id, compensate }] of tasks.entries()) {
    if (compensate === undefined) continue
    const path = from[index]?.compiled.path ?? []
    const own = id + compensationSuffix
    if (taken.has(own))
      reporter.report([...path, 'compensate'], {
        code: 'duplicate_task',
        message: `the compensation of \`${id}\` is \`${own}\`, which another task is called`,
        help: 'give the other task another id',
        on: 'key',
      })
    const longest = bounds.nameCharacters - compensationSuffix.length - roundCharacters
    if (id.length > longest)
      reporter.report([...path, 'id'], {
        code: 'schema_violation',
        message: `\`${id.slice(0, 80)}…\` has ${id.length} characters; with a compensation it has at most ${longest}`,
        help: 'shorten the ids that it is made of',
      })
  }
}

/** How the plan's compensations begin and are approved; absent where no task has one. */
export function compensationOf({ document }: Work, tasks: readonly PlanTask[]): Pick<Plan, 'compensation'> {
  if (!tasks.some(({ compensate }) => compensate !== undefined)) return {}
  const { onFailure, approval } = document.workflow.spec.compensation
  return { compensation: { onFailure, approval } }
}

/** The tasks, each followed by what undoes it, as far as effects are counted. */
export function withCompensations(tasks: readonly PlanTask[]): Effective[] {
  return tasks.flatMap(task =>
    task.compensate === undefined ? [task] : [task, { ...task.compensate, id: task.id + compensationSuffix }],
  )
}

/** A task, or a compensation under its id. */
export type Effective = Omit<PlanTask, 'needs' | 'source' | 'compensate'>
