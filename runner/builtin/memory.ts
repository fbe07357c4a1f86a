import { digest } from '../../policy/canonical.ts'
import { type Executor, ExecutorError } from '../executor.ts'
import { immediate, succeeded, textOf } from './prepared.ts'

/** builtin.memory.read: a value of the working memory; a key that was never set fails. */
export const memoryRead: Executor = {
  kinds: ['builtin.memory.read'],
  async prepare({ input, memory }) {
    const key = textOf(input, 'key', 'builtin.memory.read')
    const value = Object.hasOwn(memory, key) ? memory[key] : undefined
    if (value === undefined)
      throw new ExecutorError(
        'missing_memory',
        `working memory has no key ${JSON.stringify(key)}; set it in spec.memory.working or write it first`,
      )
    return immediate({ kind: 'other', summary: `reads memory ${JSON.stringify(key)}`, detail: { key } }, () =>
      succeeded({ value }),
    )
  },
}

/** builtin.memory.write: the delta is its output's `after` under `key`; it takes hold when its task commits. */
export const memoryWrite: Executor = {
  kinds: ['builtin.memory.write'],
  async prepare({ input, memory, task }) {
    const key = textOf(input, 'key', 'builtin.memory.write')
    const { value } = input
    if (task.memoryWrites.length > 0 && !task.memoryWrites.includes(key))
      throw new ExecutorError(
        'undeclared_memory',
        `task ${task.id} may write memory ${task.memoryWrites.join(', ')}, not ${JSON.stringify(key)}; list it in memoryWrites`,
      )
    if (value === undefined)
      throw new ExecutorError('invalid_input', 'builtin.memory.write needs `with.value`; null is a value too')
    if (key === '__proto__') throw new ExecutorError('invalid_input', '`__proto__` is no key; choose another name')
    const before = Object.hasOwn(memory, key) ? (memory[key] ?? null) : null
    const changed = !Object.hasOwn(memory, key) || digest(before) !== digest(value)
    return immediate({ kind: 'other', summary: `sets memory ${JSON.stringify(key)}`, detail: { key, value } }, () =>
      succeeded({ key, before, after: value, changed }),
    )
  },
}
