import { invokedBy } from '../expand/invocations.ts'
import { tasksOf, type Work } from './work.ts'

/**
 * Inputs that a sub-workflow can have: those with a default, those that its schema names, and those that an invocation
 * gives. null where none of these closes the set.
 */
export function inputNames(work: Work, subworkflow: string): ReadonlySet<string> | null {
  const definition = work.document.workflow.spec.subworkflows[subworkflow]
  const invocations = tasksOf(work).filter(task => invokedBy(work, task) === subworkflow)
  if (definition === undefined || invocations.length === 0) return null
  const { inputSchema, inputs } = definition
  const names = new Set(Object.keys(inputs))
  const properties = typeof inputSchema === 'object' ? inputSchema['properties'] : undefined
  if (typeof properties === 'object' && properties !== null) for (const name of Object.keys(properties)) names.add(name)
  for (const { task } of invocations) for (const name of Object.keys(task.with ?? {})) names.add(name)
  return names
}
