import type { Json, JsonObject } from '../../json.ts'
import type { CompiledTask, Work } from '../compile/work.ts'
import { tasksOf } from '../compile/work.ts'
import type { Task } from '../schema/task.ts'
import { parseCondition } from '../template/condition.ts'
import type { Path } from '../yaml/tree.ts'

/** What the fields of a task that expand it exclude (01, Templates and conditions). */
const expanding = ['foreach', 'matrix', 'loop', 'route'] as const

/** Keys below a bound variable; null where anything may stand below it. */
export type BoundNames = { readonly [name: string]: readonly string[] | null }

const none: BoundNames = {}

/** The variables that expansion binds for a task. */
export function boundNames({ foreach, matrix, loop }: Task): BoundNames {
  if (foreach !== undefined) return { [foreach.as]: null, foreachIndex: null }
  if (matrix !== undefined) return { matrix: Object.keys(matrix.axes), matrixIndex: null }
  return loop === undefined ? none : { loopIndex: null, loopPrevious: null }
}

/** Whether a task's condition reads what expansion binds for it. */
export function readsBinding(task: Task): boolean {
  const parsed = task.when === undefined ? null : parseCondition(task.when)
  if (parsed === null || !parsed.ok) return false
  const { root, path } = parsed.expression.reference
  return root === 'vars' && Object.hasOwn(boundNames(task), path[0] ?? '')
}

/** Checks what each task's expansion excludes, and that its bindings hide nothing. */
export function checkBindings(work: Work): void {
  for (const compiled of tasksOf(work)) {
    const { task } = compiled
    if (compiled.faulty) continue
    checkExclusions(work, compiled)
    if (task.matrix !== undefined) checkAxes(work, compiled, task.matrix.axes)
    for (const name of Object.keys(boundNames(task))) checkName(work, compiled, name)
    if (task.foreach?.as === 'foreachIndex' || task.foreach?.as === '__proto__')
      refuse(
        work,
        [...compiled.path, 'foreach', 'as'],
        `\`${task.foreach.as}\` cannot name the item`,
        'choose another name',
      )
  }
}

function checkExclusions(work: Work, { task, path }: CompiledTask): void {
  const [first, second] = expanding.filter(field => task[field] !== undefined)
  if (first !== undefined && second !== undefined)
    refuse(
      work,
      [...path, second],
      `\`${first}\` and \`${second}\` cannot stand in one task`,
      'make two tasks of it',
      'key',
    )
  if (task.loop !== undefined && task.when !== undefined)
    refuse(
      work,
      [...path, 'when'],
      '`loop` and `when` cannot stand in one task',
      'put the condition into `while`',
      'key',
    )
}

function checkAxes(work: Work, { path }: CompiledTask, axes: { [axis: string]: Json[] | string }): void {
  const names = Object.keys(axes)
  if (names.length === 0)
    refuse(work, [...path, 'matrix', 'axes'], 'a matrix has at least one axis', 'name one with its values')
  for (const name of names) {
    if (/^[A-Za-z0-9_-]+$/.test(name)) continue
    const help = 'letters, digits, `_` and `-`'
    refuse(work, [...path, 'matrix', 'axes', name], `no template can read an axis named \`${name}\``, help, 'key')
  }
}

function checkName(work: Work, { task, vars, path }: CompiledTask, name: string): void {
  const rename =
    task.foreach?.as === name ? 'choose another name with `as`, or rename the variable' : 'rename the variable'
  if (Object.hasOwn(vars, name)) {
    const inline = task.vars !== undefined && Object.hasOwn(task.vars, name)
    const place = inline ? [...path, 'vars', name] : [...path, 'varsFiles']
    refuse(work, place, `variable \`${name}\` would hide what the expansion of \`${task.id}\` binds`, rename, 'key')
  } else if (Object.hasOwn(work.overrides, name)) {
    const message = `\`${name}\` of --vars-file would hide what the expansion of \`${task.id}\` binds`
    refuse(work, path, message, rename)
  }
}

function refuse(work: Work, path: Path, message: string, help: string, on: 'key' | 'value' = 'value'): void {
  work.reporter.report(path, { code: 'schema_violation', message, help, on })
}

/** Every combination of the axes, the first by name changing slowest; values as declared. */
export function combinations(axes: readonly (readonly [string, readonly Json[]])[]): JsonObject[] {
  let rows: JsonObject[] = [{}]
  for (const [axis, values] of axes) rows = rows.flatMap(row => values.map(value => ({ ...row, [axis]: value })))
  return rows
}
