import type { Json, JsonObject } from '../../json.ts'
import { nearest } from '../schema/fields.ts'
import { parseCondition } from '../template/condition.ts'
import type { Expression } from '../template/expression.ts'
import { lookUp } from '../template/scope.ts'
import { expressionsOf, holdsTemplate, parseTemplate } from '../template/template.ts'
import type { Path } from '../yaml/tree.ts'
import type { CompiledTask, Work } from './work.ts'

/** Who reads: a task, or the final outputs, which may read every task. */
interface Reader {
  task: CompiledTask | null
  /** Its own variables, which may hold templates; null where no variable may be read. */
  own: JsonObject | null
}

export interface ReferenceOptions {
  /** Whether an input without a value is an error; a check without inputs only warns. */
  requireInputs: boolean
}

/** Checks every template of the tasks and the outputs: understood, and reading only what exists by then. */
export function checkReferences(work: Work, options: ReferenceOptions): void {
  const check = new Check(work, options)
  const { lost, workflow } = work.document
  for (const task of work.tasks) {
    if (task.faulty) continue
    const path = ['spec', 'tasks', task.index]
    const reader: Reader = { task, own: task.vars }
    if (task.task.vars !== undefined) check.value(task.task.vars, [...path, 'vars'], { task, own: null })
    if (task.task.when !== undefined) check.condition(task.task.when, [...path, 'when'], reader)
    if (task.task.with !== undefined) check.value(task.task.with, [...path, 'with'], reader)
    check.defaults(task, reader)
  }
  if (!lost.has('outputs') && !lost.has('tasks')) {
    check.value(workflow.spec.outputs, ['spec', 'outputs'], { task: null, own: {} })
  }
}

class Check {
  readonly #work: Work
  readonly #options: ReferenceOptions
  /** Inputs already reported as missing: once is enough. */
  readonly #missing = new Set<string>()

  constructor(work: Work, options: ReferenceOptions) {
    this.#work = work
    this.#options = options
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
      if (holdsTemplate(key)) this.#fail([...path, key], 'a key cannot hold a template', 'write the key as it is')
      // The path is only made for what can hold a template.
      if (typeof item === 'object' || (typeof item === 'string' && holdsTemplate(item)))
        this.value(item, [...path, key], reader)
    }
  }

  condition(text: string, path: Path, reader: Reader): void {
    const parsed = parseCondition(text)
    if (parsed.ok) this.#expression(parsed.expression, path, reader)
    else this.#fail(path, parsed.message, '')
  }

  #text(text: string, path: Path, reader: Reader): void {
    const parsed = parseTemplate(text)
    if (!parsed.ok) this.#fail(path, parsed.message, '')
    else for (const expression of expressionsOf(parsed.template)) this.#expression(expression, path, reader)
  }

  #expression({ reference }: Expression, path: Path, reader: Reader): void {
    if (reference.root === 'tasks') this.#task(reference.task ?? '', reference.text, path, reader)
    else if (reference.root === 'inputs') this.#input(reference, path)
    else if (reference.root === 'vars') this.#variable(reference, path, reader)
  }

  #task(id: string, text: string, path: Path, reader: Reader): void {
    const { indexOf, closure, document } = this.#work
    const index = indexOf.get(id)
    if (index === undefined) {
      if (document.lost.has('tasks')) return
      const close = nearest(id, [...indexOf.keys()])
      this.#fail(path, `\`${text}\`: there is no task \`${id}\``, close === null ? '' : `did you mean \`${close}\`?`)
    } else if (reader.task !== null && !closure.holds(reader.task.index, index)) {
      const own = reader.task.index === index
      const message = own
        ? `\`${text}\`: a task cannot read its own output`
        : `\`${text}\`: task \`${reader.task.task.id}\` does not need \`${id}\``
      this.#fail(path, message, own ? 'read a task that it needs' : `add \`${id}\` to its needs`)
    }
  }

  #input(reference: Expression['reference'], path: Path): void {
    const { inputs, document } = this.#work
    if (document.lost.has('inputs')) return
    const found = lookUp(reference, { inputs, vars: {}, memory: {}, tasks: {} })
    if (found.ok) return
    const name = reference.path[0] ?? ''
    if (Object.hasOwn(inputs, name)) this.#fail(path, found.message, `the value of input \`${name}\` has no such key`)
    else if (!this.#missing.has(name)) {
      this.#missing.add(name)
      const close = nearest(name, Object.keys(inputs))
      this.#work.reporter.report(path, {
        code: 'invalid_template',
        severity: this.#options.requireInputs ? 'error' : 'warning',
        message: `input \`${name}\` has no value and no default in spec.inputs`,
        help: close === null ? 'give it, or add a default' : `did you mean \`${close}\`?`,
      })
    }
  }

  #variable(reference: Expression['reference'], path: Path, reader: Reader): void {
    const { vars, overrides, document } = this.#work
    const name = reference.path[0] ?? ''
    if (reader.own === null) {
      this.#fail(
        path,
        `\`${reference.text}\`: a variable cannot be made from variables`,
        'read inputs, memory or tasks',
      )
      return
    }
    if (document.lost.has('vars') || document.lost.has('varsFiles') || isExpanded(reader.task)) return
    const own = Object.hasOwn(reader.own, name) && !Object.hasOwn(overrides, name)
    // What a template of the task's own variable will give is not known yet.
    if (own && holdsAnyTemplate(reader.own[name] ?? null)) return
    const found = lookUp(reference, { inputs: {}, vars: own ? reader.own : vars, memory: {}, tasks: {} })
    if (found.ok) return
    const close = nearest(name, [...Object.keys(reader.own), ...Object.keys(vars)])
    const known = own || Object.hasOwn(vars, name)
    this.#fail(path, found.message, known || close === null ? 'define it in `vars`' : `did you mean \`${close}\`?`)
  }

  #fail(path: Path, message: string, help: string): void {
    this.#work.reporter.report(path, { code: 'invalid_template', message, help })
  }
}

/** Expansion binds variables of its own. */
function isExpanded(task: CompiledTask | null): boolean {
  return task !== null && (task.task.foreach ?? task.task.matrix ?? task.task.loop) !== undefined
}

/** Whether a template stands anywhere in a value. */
export function holdsAnyTemplate(value: Json): boolean {
  if (typeof value === 'string') return holdsTemplate(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsAnyTemplate)
}
