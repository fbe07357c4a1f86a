import { expect, it } from 'vitest'
import type { Line } from '../../cli/output/text.ts'
import { showProgress } from '../../cli/progress.ts'

function shown(events: Parameters<ReturnType<typeof showProgress>>[0][]): string[] {
  const lines: string[] = []
  const textOf = (line: Line) =>
    typeof line === 'string' ? line : line.map(part => (typeof part === 'string' ? part : part[1])).join('')
  const report = showProgress({ tell: line => lines.push(textOf(line)) })
  for (const event of events) report(event)
  return lines
}

const output = (task: string, text: string, stream: 'stdout' | 'stderr' = 'stdout') =>
  ({ type: 'output', task, stream, text }) as const
const ended = (task: string) =>
  ({ type: 'task.ended', task, state: 'succeeded', milliseconds: 1, message: '' }) as const

it('shows whole lines of a process, however its output is cut', () => {
  expect(shown([output('a', 'one'), output('a', ' two'), output('a', ' three\nfour\n'), ended('a')])).toEqual([
    'a | one two three',
    'a | four',
    'a succeeded in 1 ms',
  ])
})

it('keeps tasks and streams apart, and shows what has no line end before the task ends', () => {
  const events = [output('a', 'out'), output('a', 'err\n', 'stderr'), output('b', 'other\n'), output('a', 'put')]
  expect(shown([...events, ended('a'), ended('b')])).toEqual([
    'a | err',
    'b | other',
    'a | output',
    'a succeeded in 1 ms',
    'b succeeded in 1 ms',
  ])
})

it('shows an endless line in parts', () => {
  const part = 'x'.repeat(50_000)
  expect(shown([output('a', part), output('a', part)])).toEqual([`a | ${part}${part}`])
})
