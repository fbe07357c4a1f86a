import { type Executor, ExecutorError } from '../executor.ts'
import { immediate, succeeded } from './prepared.ts'

/** builtin.assert: fails its task with the given message unless `that` is true. Pure. */
export const assert: Executor = {
  kinds: ['builtin.assert'],
  async prepare({ input }) {
    const { that, message } = input
    if (typeof that !== 'boolean')
      throw new ExecutorError(
        'invalid_input',
        `builtin.assert needs \`with.that\` as a boolean; it is ${JSON.stringify(that ?? null).slice(0, 200)}`,
      )
    if (message !== undefined && typeof message !== 'string')
      throw new ExecutorError('invalid_input', 'builtin.assert needs `with.message` as a string; write one')
    return immediate({ kind: 'other', summary: 'checks a condition', detail: input }, () =>
      that
        ? succeeded({ status: 'unchanged', changed: false, passed: true })
        : {
            kind: 'failed',
            code: 'assertion_failed',
            message: message ?? 'the assertion does not hold',
            output: null,
            retrySafe: false,
          },
    )
  },
}
