import { afterEach, beforeEach, expect, test } from 'vitest'
import { requireNode } from '../../cli/node-version.ts'
import { diffLines, render, visible } from '../../cli/output/text.ts'
import { cliAt, createDesk, type Desk, gated } from './support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
  desk.put('gated.yaml', gated)
})
afterEach(() => desk.dispose())

test.each([
  ['\u001b[8mhidden\u001b[0m', '\\u{1b}[8mhidden\\u{1b}[0m'],
  ['line\r\u0007over', 'line\\u{d}\\u{7}over'],
  ['if (admin\u202e \u2066)', 'if (admin\\u{202e} \\u{2066})'],
  ['zero\u200bwidth\ufeff', 'zero\\u{200b}width\\u{feff}'],
  ['c1 \u009b31m', 'c1 \\u{9b}31m'],
  ['out/a\ufe0f\u034f.txt', 'out/a\\u{fe0f}\\u{34f}.txt'],
  ['tabs\tand\nlines, é 漢 stay', 'tabs\tand\nlines, é 漢 stay'],
])('text from elsewhere cannot steer the terminal: %j', (text, shown) => {
  expect(visible(text)).toBe(shown)
  expect(render([[['red', text]]], false)).toBe(`${shown}\n`)
})

test('a diff is coloured line by line, only where colours are wanted', () => {
  const lines = diffLines('@@ -1 +1 @@\n-a\u001b[31m\n+b\n', '')
  expect(render(lines, false)).toBe('@@ -1 +1 @@\n-a\\u{1b}[31m\n+b\n')
  expect(render(lines, true)).toBe('@@ -1 +1 @@\n\u001b[31m-a\\u{1b}[31m\u001b[39m\n\u001b[32m+b\u001b[39m\n')
})

test('what nobody decided in time has expired, and a late approval is told so', async () => {
  const { stdout } = await cliAt(desk.directory, '2026-01-01T00:00:00.000Z', ['run', 'gated.yaml'])
  const [, approval = '', run = ''] = /approve\|reject (\S+) --reason TEXT\n.*resume (\S+)/.exec(stdout) ?? []
  const late = await cliAt(desk.directory, '2026-01-08T00:00:00.000Z', [
    'approvals',
    'approve',
    approval,
    '--reason',
    'late',
  ])
  expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('was expired at 2026-01-08')])
  expect((await cliAt(desk.directory, '2026-01-08T00:00:01.000Z', ['resume', run])).code).toBe(3)
  expect(desk.get('out/gated.txt')).toBeNull()
})

test('--interactive asks, and goes on at once', async () => {
  const answers = { 'later? ': 'approve\n', 'reason: ': 'seen it\n' }
  const ended = await cliAt(desk.directory, '2026-01-01T00:00:00.000Z', ['run', 'gated.yaml', '--interactive'], answers)
  expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('+exactly this')])
  expect(desk.get('out/gated.txt')).toBe('exactly this\n')
  const { stdout } = await cliAt(desk.directory, '2026-01-01T00:00:01.000Z', ['approvals', 'list'])
  expect(stdout).toContain('nothing waits')
})

test('--interactive whose input ends leaves the run waiting', async () => {
  const ended = await cliAt(desk.directory, '2026-01-01T00:00:00.000Z', ['run', 'gated.yaml', '--interactive'], {
    'later? ': null,
  })
  expect([ended.code, desk.get('out/gated.txt')]).toEqual([130, null])
  const { stdout } = await cliAt(desk.directory, '2026-01-01T00:00:01.000Z', ['approvals', 'list'])
  expect(stdout).toContain('+exactly this')
})

test('a Node that is too old is named before anything is loaded', () => {
  for (const version of ['v20.20.2', 'v23.11.0', 'odd'])
    expect(() => requireNode(version)).toThrow(`agentctl needs Node 24 or later; this is ${version}`)
  for (const version of ['v24.0.0', 'v100.1.2']) expect(() => requireNode(version)).not.toThrow()
})
