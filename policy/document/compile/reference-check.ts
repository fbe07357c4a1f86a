import type { Json } from '../../json.ts'
import { nearest } from '../schema/fields.ts'
import { parseCondition } from '../template/condition.ts'
import type { Expression } from '../template/expression.ts'
import { lookUp } from '../template/scope.ts'
import { expressionsOf, holdsAnyTemplate, holdsTemplate, parseTemplate } from '../template/template.ts'
import type { Path } from '../yaml/tree.ts'
import type { Reader } from './reader.ts'
import { inputNames } from './subworkflow-inputs.ts'
import type { CompiledTask, TaskList, Work } from './work.ts'

const templateHelp =
  'write one path, `${{ inputs.NAME }}` or `${{ tasks.ID.output.KEY }}`, or one comparison of it, `${{ inputs.NAME == 1 }}`'
const conditionHelp =
  'write one comparison, `${{ inputs.NAME == 1 }}`, `${{ not inputs.NAME }}` or one path that is true or false'

/** Checks values and conditions for one reader at a time, and reports what is not understood or not there to be read. */
export class ReferenceCheck {
  /** Tasks of which a finding says why their items are not known. */
  readonly doubtful = new Set<CompiledTask>()
  readonly #work: Work
  readonly #options: { requireInputs: boolean }
  /** Inputs already reported as missing: once is enough. */
  readonly #missing = new Set<string>()
  readonly #inputs = new Map<TaskList, ReadonlySet<string> | null>()

  constructor(work: Work, options: { requireInputs: boolean }) {
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
    else this.#fail(path, parsed.message, conditionHelp, reader)
  }

  #text(text: string, path: Path, reader: Reader): void {
    const parsed = parseTemplate(text)
    if (!parsed.ok) this.#fail(path, parsed.message, templateHelp, reader)
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
      const help = close === null ? 'name a task of this graph' : `did you mean \`${close}\`?`
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
