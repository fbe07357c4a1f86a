import { closeSync } from 'node:fs'
import type { Executor } from '../executor.ts'
import { readAll, readFact } from '../facts/read-fact.ts'
import type { Host } from '../host.ts'
import { settled, succeeded, textOf } from './prepared.ts'

/** builtin.read gives at most this much. */
export const readLimitBytes = 1_048_576

/** builtin.read: a UTF-8 file of the workspace, read from the descriptor that was checked. */
export function readExecutor(host: Host): Executor {
  return {
    kinds: ['builtin.read'],
    async prepare({ input }) {
      const requested = textOf(input, 'path', 'builtin.read')
      const { fact, file } = readFact(host.workspace, requested)
      let fd = file?.fd ?? -1
      return {
        facts: { kind: 'read', path: fact },
        binding: {},
        expected: {
          kind: 'other',
          summary: `reads ${requested}`,
          detail: { path: fact.known ? fact.path : requested },
        },
        predictability: 'full',
        unchanged: null,
        start: () => settled(readText(fd, requested)),
        close() {
          if (fd >= 0) closeSync(fd)
          fd = -1
        },
      }
    },
  }
}

function readText(fd: number, requested: string) {
  const failed = (code: string, message: string) =>
    ({ kind: 'failed', code, message, output: null, retrySafe: false }) as const
  try {
    const bytes = readAll(fd, readLimitBytes)
    if (bytes === null)
      return failed('file_too_large', `${requested} is larger than ${readLimitBytes} bytes; read a smaller file`)
    const content = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return succeeded({ status: 'unchanged', changed: false, content })
  } catch (error) {
    if (error instanceof TypeError) return failed('not_utf8', `${requested} is not UTF-8 text; read a text file`)
    return failed(
      'read_failed',
      `${requested} could not be read: ${error instanceof Error ? error.message : error}; run the task again`,
    )
  }
}
