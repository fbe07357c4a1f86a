import { checkSchema } from '../compile/schemas.ts'
import { reportTemplates } from '../compile/vars.ts'
import type { CompiledTask, TaskList, Work } from '../compile/work.ts'
import { listsOf } from '../compile/work.ts'
import { refuseFieldsOfActions } from './fields.ts'

/** Name of the sub-workflow that a task invokes, null where it uses something else or one that is not defined. */
export function invokedBy({ subworkflows }: Pick<Work, 'subworkflows'>, { task }: CompiledTask): string | null {
  if (!task.uses.startsWith('workflow:')) return null
  const name = task.uses.slice('workflow:'.length)
  return subworkflows.has(name) ? name : null
}

/** The lists whose tasks can come into the plan: the document's, and those that it invokes, directly or through others. */
export function usedLists(work: Pick<Work, 'main' | 'subworkflows'>): TaskList[] {
  const lists = new Set([work.main])
  // Grows while it is walked.
  for (const list of lists)
    for (const task of list.tasks) {
      const below = work.subworkflows.get(invokedBy(work, task) ?? '')
      if (below !== undefined) lists.add(below)
    }
  return [...lists]
}

/** Checks every invocation and definition of a sub-workflow; gives the names of those that would never end. */
export function checkInvocations(work: Work): ReadonlySet<string> {
  for (const [name, definition] of Object.entries(work.document.workflow.spec.subworkflows)) {
    const path = ['spec', 'subworkflows', name]
    reportTemplates(work.reporter, [...path, 'inputs'], definition.inputs, 'a default input')
    for (const side of ['inputSchema', 'outputSchema'] as const) checkSchema(work, [...path, side], definition[side])
  }
  for (const list of listsOf(work))
    for (const compiled of list.tasks)
      if (invokedBy(work, compiled) !== null)
        refuseFieldsOfActions(work, compiled, {
          what: 'a sub-workflow',
          help: 'write it at the tasks of the sub-workflow',
          allowed: ['with'],
        })
  return recursive(work)
}

/** Expanded ids end long before so many levels, and a circle is at most so long where it is looked for. */
const levelsMax = 100

/** Sub-workflows on a circle of invocations; each circle is told once. */
function recursive(work: Work): ReadonlySet<string> {
  const circular = new Set<string>()
  const done = new Set<string>()
  const visit = (name: string, list: TaskList, open: readonly string[]): void => {
    for (const compiled of list.tasks) {
      const next = invokedBy(work, compiled)
      const below = next === null ? undefined : work.subworkflows.get(next)
      if (next === null || below === undefined || done.has(next)) continue
      const from = [...open, name].indexOf(next)
      if (from < 0) {
        if (open.length < levelsMax) visit(next, below, [...open, name])
        continue
      }
      const circle = [...open, name].slice(from)
      if (circle.some(one => !circular.has(one))) {
        work.reporter.report([...compiled.path, 'uses'], {
          code: 'dependency_cycle',
          message: `sub-workflows use each other in a circle: ${[...circle, next].join(' -> ')}`,
          help: 'remove one of these invocations; nothing expands without end',
        })
      }
      for (const one of circle) circular.add(one)
    }
    done.add(name)
  }
  for (const [name, list] of work.subworkflows) if (!done.has(name)) visit(name, list, [])
  return circular
}
