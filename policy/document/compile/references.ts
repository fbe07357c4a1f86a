import type { JsonObject } from '../../json.ts'
import { boundNames } from '../expand/bindings.ts'
import type { Path } from '../yaml/tree.ts'
import type { Reader } from './reader.ts'
import { ReferenceCheck } from './reference-check.ts'
import { type CompiledTask, listsOf, type TaskList, type Work } from './work.ts'

export interface ReferenceOptions {
  /** Whether an input without a value is an error; a check without inputs only warns. */
  requireInputs: boolean
}

/** What expansion cannot know, for reasons that stand among the findings. */
export interface Doubts {
  /** Tasks whose items read what cannot be read. */
  doubtful: ReadonlySet<CompiledTask>
  /** Some input has no value. */
  inputsMissing: boolean
}

/** Checks every template of the tasks and the outputs: understood, and reading only what exists by then. */
export function checkReferences(work: Work, options: ReferenceOptions): Doubts {
  const check = new ReferenceCheck(work, options)
  const { lost, workflow } = work.document
  for (const list of listsOf(work)) for (const task of list.tasks) if (!task.faulty) checkTask(check, list, task)
  const outputs = (list: TaskList, value: JsonObject, path: Path): void =>
    check.value(value, path, { list, task: null, own: {}, bound: {} })
  if (!lost.has('outputs') && !lost.has('tasks')) outputs(work.main, workflow.spec.outputs, ['spec', 'outputs'])
  for (const [name, list] of work.subworkflows)
    outputs(list, workflow.spec.subworkflows[name]?.outputs ?? {}, ['spec', 'subworkflows', name, 'outputs'])
  return { doubtful: check.doubtful, inputsMissing: check.inputsMissing }
}

function checkTask(check: ReferenceCheck, list: TaskList, compiled: CompiledTask): void {
  const { task, path, vars } = compiled
  const unbound: Reader = { list, task: compiled, own: vars, bound: {} }
  const reader: Reader = { ...unbound, bound: boundNames(task) }
  if (task.vars !== undefined) {
    const { loopPrevious: _, ...bound } = reader.bound
    check.value(task.vars, [...path, 'vars'], { ...unbound, own: null, bound })
  }
  if (task.when !== undefined) check.condition(task.when, [...path, 'when'], reader)
  if (task.with !== undefined) check.value(task.with, [...path, 'with'], reader)
  check.defaults(compiled, reader)
  checkCompensation(check, compiled, reader)
  if (task.foreach !== undefined)
    check.value(task.foreach.items, [...path, 'foreach', 'items'], { ...unbound, as: 'items' })
  if (task.matrix !== undefined) check.value(task.matrix.axes, [...path, 'matrix', 'axes'], { ...unbound, as: 'items' })
  if (task.loop !== undefined) {
    check.condition(task.loop.while, [...path, 'loop', 'while'], { ...reader, as: 'guard' })
    if (task.loop.initial !== undefined) check.value(task.loop.initial, [...path, 'loop', 'initial'], unbound)
  }
  if (task.route !== undefined) check.value(task.route.select, [...path, 'route', 'select'], reader)
}

/** What undoes a task reads what the task could, and what the task gave. */
function checkCompensation(check: ReferenceCheck, { task, path, compensation }: CompiledTask, reader: Reader): void {
  const undoing: Reader = { ...reader, as: 'compensation' }
  if (task.compensate !== undefined) check.value(task.compensate.with, [...path, 'compensate', 'with'], undoing)
  if (compensation !== undefined) check.defaults(compensation, undoing)
}
