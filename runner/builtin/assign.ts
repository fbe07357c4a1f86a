import type { Executor } from '../executor.ts'
import { immediate, succeeded } from './prepared.ts'

/** builtin.assign: gives its input as output. Pure. */
export const assign: Executor = {
  kinds: ['builtin.assign'],
  async prepare({ input }) {
    return immediate({ kind: 'other', summary: 'assigns a value', detail: input }, () =>
      succeeded({ status: 'unchanged', changed: false, after: input, output: input, predictability: 'full' }),
    )
  },
}
