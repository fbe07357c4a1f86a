import { describe, expect, test } from 'vitest'
import type { ProcessEnd } from '../../runner/executor.ts'
import { resultOfEnd } from '../../runner/process/process-result.ts'

/** 01, States, and 03: what each end of a process counts as. Only exit code 0 is a success. */
const meanings: [ProcessEnd, kind: string, code?: string][] = [
  [{ kind: 'exited', code: 0 }, 'succeeded'],
  ...[1, 2, 42, 125, 126, 127, 128, 137, 139, 255].map((code): [ProcessEnd, string, string] => [
    { kind: 'exited', code },
    'failed',
    'non_zero_exit',
  ]),
  [{ kind: 'signalled', signal: 'SIGKILL' }, 'failed', 'signalled'],
  [{ kind: 'spawn_failed', code: 'E2BIG', message: 'spawn E2BIG' }, 'failed', 'argv_too_long'],
  [{ kind: 'spawn_failed', code: 'EAGAIN', message: 'spawn EAGAIN' }, 'failed', 'spawn_failed'],
  [{ kind: 'output_exceeded', stream: 'stdout', limitBytes: 10 }, 'failed', 'output_exceeded'],
  [{ kind: 'limit_exceeded', limit: 'memory', amount: 10 }, 'failed', 'limit_exceeded'],
  [{ kind: 'timed_out', seconds: 1 }, 'uncertain', 'timed_out'],
  [{ kind: 'cancelled', reason: 'SIGINT' }, 'uncertain', 'cancelled'],
  [{ kind: 'lost', message: 'the process ended without an exit code' }, 'uncertain', 'lost'],
]

describe('case 22 and 03: an end means what it means, and lost is not green', () => {
  test.each(meanings)('%j is %s', (end, kind, code) => {
    const result = resultOfEnd(end, null, true)
    expect({ kind: result.kind, code: 'code' in result ? result.code : undefined }).toEqual({ kind, code })
    if (result.kind === 'failed') expect(result.retrySafe).toBe(true)
  })

  test('beside a process that could not be ended nothing is repeated, and no message says that it was', () => {
    const left = [{ pid: 42, command: 'sleep' }]
    for (const [end] of meanings) {
      const result = resultOfEnd(end, null, true, left)
      if (result.kind === 'failed') expect(result.retrySafe).toBe(false)
      if (end.kind === 'timed_out' || end.kind === 'cancelled' || end.kind === 'output_exceeded')
        expect('message' in result && result.message).toContain('could not be ended whole (still there: sleep (42))')
    }
  })
})
