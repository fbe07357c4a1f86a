import type { Json, JsonObject } from '../../json.ts'
import { type BoundNames, boundNames } from '../expand/bindings.ts'
import { invokedBy } from '../expand/invocations.ts'
import { nearest } from '../schema/fields.ts'
import { parseCondition } from '../template/condition.ts'
import type { Expression } from '../template/expression.ts'
import { lookUp } from '../template/scope.ts'
import { expressionsOf, holdsAnyTemplate, holdsTemplate, parseTemplate } from '../template/template.ts'
import type { Path } from '../yaml/tree.ts'
import type { CompiledTask, TaskList, Work } from './work.ts'
import { listsOf, tasksOf } from './work.ts'

/** Who reads: a task, or final outputs, which may read every task of their list. */
interface Reader {
  list: TaskList
  task: CompiledTask | null
  /** Its own variables, which may hold templates; null where no variable may be read. */
  own: JsonObject | null
  /** Variables that expansion binds. */
  bound: BoundNames
  /** `items`: known before the run exists, so from inputs and variables only; `guard`: the `while` of a loop; `compensation`: it may read the task's own output. */
  as?: 'items' | 'guard' | 'compensation'
}

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
  const check = new Check(work, options)
  const { lost, workflow } = work.document
  for (const list of listsOf(work)) for (const task of list.tasks) if (!task.faulty) checkTask(check, list, task)
  const outputs = (list: TaskList, value: JsonObject, path: Path): void =>
    check.value(value, path, { list, task: null, own: {}, bound: {} })
  if (!lost.has('outputs') && !lost.has('tasks')) outputs(work.main, workflow.spec.outputs, ['spec', 'outputs'])
  for (const [name, list] of work.subworkflows)
    outputs(list, workflow.spec.subworkflows[name]?.outputs ?? {}, ['spec', 'subworkflows', name, 'outputs'])
  return { doubtful: check.doubtful, inputsMissing: check.inputsMissing }
}

function checkTask(check: Check, list: TaskList, compiled: CompiledTask): void {
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
function checkCompensation(check: Check, { task, path, compensation }: CompiledTask, reader: Reader): void {
  const undoing: Reader = { ...reader, as: 'compensation' }
  if (task.compensate !== undefined) check.value(task.compensate.with, [...path, 'compensate', 'with'], undoing)
  if (compensation !== undefined) check.defaults(compensation, undoing)
}

class Check {
  /** Tasks of which a finding says why their items are not known. */
  readonly doubtful = new Set<CompiledTask>()
  readonly #work: Work
  readonly #options: ReferenceOptions
  /** Inputs already reported as missing: once is enough. */
  readonly #missing = new Set<string>()
  readonly #inputs = new Map<TaskList, ReadonlySet<string> | null>()

  constructor(work: Work, options: ReferenceOptions) {
    this.#work = work
    this.#options = options
  }

  get inputsMissing(): boolean {
    return this.#missing.size > 0
  }

  /** The defaults of the task's action that its own input does not replace. */
  defaults(task: CompiledTask, reader: Reader): void {
    const defaults = task.action?.definition.with
    if (defaults === undefined || task.action === null) return
    for (const [key, value] of Object.entries(defaults)) {
      if (task.task.with !== undefined && Object.hasOwn(task.task.with, key)) continue
      this.value(value, ['spec', 'actions', task.action.name, 'with', key], reader)
    }
  }

  value(value: Json, path: Path, reader: Reader): void {
    if (typeof value === 'string') {
      if (holdsTemplate(value)) this.#text(value, path, reader)
      return
    }
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.value(item, [...path, index], reader)
      return
    }
    for (const key in value) {
      const item = value[key]
      if (holdsTemplate(key))
        this.#fail([...path, key], 'a key cannot hold a template', 'write the key as it is', reader)
      // The path is only made for what can hold a template.
      if (typeof item === 'object' || (typeof item === 'string' && holdsTemplate(item)))
        this.value(item, [...path, key], reader)
    }
  }

  condition(text: string, path: Path, reader: Reader): void {
    const parsed = parseCondition(text)
    if (parsed.ok) this.#expression(parsed.expression, path, reader)
    else this.#fail(path, parsed.message, '', reader)
  }

  #text(text: string, path: Path, reader: Reader): void {
    const parsed = parseTemplate(text)
    if (!parsed.ok) this.#fail(path, parsed.message, '', reader)
    else for (const expression of expressionsOf(parsed.template)) this.#expression(expression, path, reader)
  }

  #expression({ reference }: Expression, path: Path, reader: Reader): void {
    const { root, text } = reference
    if (root === 'loop') {
      if (reader.as === 'guard') return
      this.#fail(path, `\`${text}\` can be read in \`while\` of a loop only`, 'read vars.loopPrevious', reader)
    } else if (reader.as === 'items' && (root === 'tasks' || root === 'memory')) {
      const message = `\`${text}\` is known in the run only, and everything expands before the run exists`
      this.#fail(path, message, 'read inputs and vars only', reader)
    } else if (root === 'tasks') this.#task(reference.task ?? '', text, path, reader)
    else if (root === 'inputs') this.#input(reference, path, reader)
    else if (root === 'vars') this.#variable(reference, path, reader)
  }

  #task(id: string, text: string, path: Path, reader: Reader): void {
    const { indexOf, closure } = reader.list
    const index = indexOf.get(id)
    if (index === undefined) {
      if (this.#work.document.lost.has('tasks')) return
      const close = nearest(id, [...indexOf.keys()])
      const help = close === null ? '' : `did you mean \`${close}\`?`
      this.#fail(path, `\`${text}\`: there is no task \`${id}\``, help, reader)
    } else if (reader.task !== null && !closure.holds(reader.task.index, index)) {
      const own = reader.task.index === index
      if (own && reader.as === 'compensation') return
      const message = own
        ? `\`${text}\`: a task cannot read its own output`
        : `\`${text}\`: task \`${reader.task.task.id}\` does not need \`${id}\``
      this.#fail(path, message, own ? 'read a task that it needs' : `add \`${id}\` to its needs`, reader)
    }
  }

  #input(reference: Expression['reference'], path: Path, reader: Reader): void {
    const { inputs, document } = this.#work
    if (reader.list.subworkflow !== null) {
      this.#inputOfSubworkflow(reference, path, reader, reader.list.subworkflow)
      return
    }
    const found = lookUp(reference, { inputs, vars: {}, memory: {}, tasks: {} })
    if (found.ok || document.lost.has('inputs')) return
    const name = reference.path[0] ?? ''
    if (Object.hasOwn(inputs, name)) {
      this.#fail(path, found.message, `the value of input \`${name}\` has no such key`, reader)
      return
    }
    this.#doubt(reader)
    if (this.#missing.has(name)) return
    this.#missing.add(name)
    const close = nearest(name, Object.keys(inputs))
    this.#work.reporter.report(path, {
      code: 'invalid_template',
      severity: this.#options.requireInputs ? 'error' : 'warning',
      message: `input \`${name}\` has no value and no default in spec.inputs`,
      help: close === null ? 'give it, or add a default' : `did you mean \`${close}\`?`,
    })
  }

  #inputOfSubworkflow(reference: Expression['reference'], path: Path, reader: Reader, subworkflow: string): void {
    let names = this.#inputs.get(reader.list)
    if (names === undefined) {
      names = inputNames(this.#work, subworkflow)
      this.#inputs.set(reader.list, names)
    }
    const name = reference.path[0] ?? ''
    if (names === null || names.has(name)) return
    const close = nearest(name, [...names])
    const help = close === null ? 'name it in inputSchema' : `did you mean \`${close}\`?`
    this.#fail(path, `sub-workflow \`${subworkflow}\` has no input \`${name}\``, help, reader)
  }

  #variable(reference: Expression['reference'], path: Path, reader: Reader): void {
    const { vars, overrides, document } = this.#work
    const [name = '', below] = reference.path
    if (reader.own === null && !Object.hasOwn(reader.bound, name)) {
      const message = `\`${reference.text}\`: a variable cannot be made from variables`
      this.#fail(path, message, 'read inputs, memory or tasks', reader)
      return
    }
    if (reader.own === null || Object.hasOwn(reader.bound, name)) {
      const keys = reader.bound[name] ?? null
      if (keys === null || below === undefined || keys.includes(below)) return
      const close = nearest(below, keys)
      const help = close === null ? `it has ${keys.join(', ')}` : `did you mean \`${close}\`?`
      this.#fail(path, `\`${reference.text}\` is missing: \`vars.${name}\` has no \`${below}\``, help, reader)
      return
    }
    if (document.lost.has('vars') || document.lost.has('varsFiles')) return
    const own = Object.hasOwn(reader.own, name) && !Object.hasOwn(overrides, name)
    // What a template of the task's own variable will give is not known yet.
    if (own && holdsAnyTemplate(reader.own[name] ?? null)) return
    const found = lookUp(reference, { inputs: {}, vars: own ? reader.own : vars, memory: {}, tasks: {} })
    if (found.ok) return
    const close = nearest(name, [...Object.keys(reader.own), ...Object.keys(vars), ...Object.keys(reader.bound)])
    const known = own || Object.hasOwn(vars, name)
    const help = known || close === null ? 'define it in `vars`' : `did you mean \`${close}\`?`
    this.#fail(path, found.message, help, reader)
  }

  #fail(path: Path, message: string, help: string, reader: Reader): void {
    this.#doubt(reader)
    this.#work.reporter.report(path, { code: 'invalid_template', message, help })
  }

  #doubt({ as, task }: Reader): void {
    if (as === 'items' && task !== null) this.doubtful.add(task)
  }
}

/**
 * Inputs that a sub-workflow can have: those with a default, those that its schema names, and those that an invocation
 * gives. null where none of these closes the set.
 */
function inputNames(work: Work, subworkflow: string): ReadonlySet<string> | null {
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
