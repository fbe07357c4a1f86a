import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JobLog } from '../../action/job-log.ts'

type Step = { kind: 'line' | 'foreign' | 'command'; text: string }

/** Reads a log as the runner does: which workflow commands would it run, given its stop token? */
function commandsIn(log: string): string[] {
  const found: string[] = []
  let stop: string | null = null
  for (const line of log.split('\n')) {
    // .NET's white space: that of JavaScript and NEL.
    const plain = line.replace(/^[\s\u0085]+/, '')
    if (stop !== null) {
      if (plain === `::${stop}::`) stop = null
      continue
    }
    const opened = /^::stop-commands::([0-9a-f]{48})$/.exec(plain)
    if (opened !== null) stop = opened[1] ?? null
    else if (plain.startsWith('::') || line.includes('##[')) found.push(line)
  }
  return found
}

function play(steps: readonly Step[]): string {
  let written = ''
  const log = new JobLog(text => {
    written += text
  })
  for (const { kind, text } of steps) {
    if (kind === 'line') log.line(text)
    else if (kind === 'foreign') log.foreign(text)
    else
      log.command(() => {
        written += '::ours::\n'
      })
  }
  return written
}

test('the runner sees our commands and never one in the text of others', () => {
  const hostile = fc.constantFrom(
    '::set-output name=a::b',
    ' ::add-mask::x',
    '\n::error::forged\n',
    '##[add-path]/evil',
    'x\n##[error]y',
    '::stop-commands::mine',
    '::mine::',
    'no newline at the end',
    '\r\n::error::crlf',
    '\u0085::add-mask::next-line',
  )
  const step = fc.record({
    kind: fc.constantFrom('line' as const, 'foreign' as const, 'command' as const),
    text: fc.oneof(hostile, fc.string(), fc.string({ unit: 'grapheme' })),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), steps => {
      const ours = steps.filter(({ kind }) => kind === 'command').length
      expect(commandsIn(play(steps))).toEqual(Array.from({ length: ours }, () => '::ours::'))
    }),
    { numRuns: 1_000 },
  )
})

test('text of others is written as it is', () => {
  const log = play([
    { kind: 'foreign', text: 'half ' },
    { kind: 'foreign', text: 'line\n::error::x' },
    { kind: 'line', text: 'ours' },
  ])
  expect(log).toMatch(/^::stop-commands::([0-9a-f]{48})\nhalf line\n::error::x\n::\1::\nours\n$/)
})

test('every fence has its own token', () => {
  const steps = Array.from({ length: 20 }, (): Step[] => [
    { kind: 'foreign', text: 'x' },
    { kind: 'line', text: 'y' },
  ])
  const tokens = [...play(steps.flat()).matchAll(/::stop-commands::([0-9a-f]+)/g)].map(match => match[1])
  expect(new Set(tokens).size).toBe(20)
})
