import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { faultOutcome, type Outcome, processExit, recordedOutcome, statusOf } from '../../action/outcome.ts'
import { outputsText, writeOutputs } from '../../action/outputs.ts'
import type { TaskLine } from '../../action/progress.ts'
import { escaped, summaryText } from '../../action/summary.ts'
import type { AttachAnswer } from '../../ledger/wire.ts'
import { type ApprovalRecord, defaultApprovalSettings, type Resolution } from '../../policy/approval/record.ts'
import { sha256 } from '../../policy/canonical.ts'
import type { JsonObject } from '../../policy/json.ts'
import { readOutputs } from './job.ts'

const task = (more: Partial<TaskLine> = {}): TaskLine => ({
  task: 'publish',
  kind: 'builtin.write',
  state: 'succeeded',
  milliseconds: 12,
  decisions: ['allow'],
  steps: [],
  message: '',
  enforcement: null,
  ...more,
})
const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  ...faultOutcome('succeeded', 0, []),
  run: 'run-1',
  planDigest: 'p'.repeat(64),
  head: 'h'.repeat(64),
  auditUrl: 'https://agentctl.example/run-1',
  ...more,
})
const approval = (resolution: Resolution): ApprovalRecord => ({
  id: 'a'.repeat(64),
  run: 'run-1',
  pause: 'pause-1',
  number: 1,
  trace: 'run-1/publish/1/0',
  task: 'publish',
  agent: null,
  tool: 'filesystem.write',
  capability: 'filesystem.write',
  effect: 'e'.repeat(64),
  effectClass: 'workspace_mutate',
  risk: 'medium',
  isolation: 'process',
  input: {},
  inputDigest: 'i'.repeat(64),
  bindingDigest: 'b'.repeat(64),
  expectedEffect: { kind: 'other', summary: '', detail: null },
  reason: 'approval mutations',
  decisionTrace: [],
  planDigest: 'p'.repeat(64),
  commit: { sha: null, head: null },
  requestedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-08T00:00:00.000Z',
  needed: 1,
  resolution,
})
const facts = (tasks: TaskLine[] = [task()]) => ({
  document: '.agentctl/release.yaml',
  tasks,
  approvals: [],
  hostFloor: 'none',
})

describe('the job summary', () => {
  test('tells state, tasks, decisions, durations, issue and chain head', () => {
    const text = summaryText(
      outcome({
        status: 'paused',
        exitCode: 3,
        issue: { number: 7, url: 'https://github.example/o/r/issues/7' },
        messages: ['publish waits'],
      }),
      facts([task({ decisions: ['ask: approval mutations'], state: 'waiting' })]),
    )
    for (const part of [
      'waiting for approval',
      '[issue #7](https://github.example/o/r/issues/7)',
      '- publish waits',
      '12 ms',
      'h'.repeat(64),
    ])
      expect(text).toContain(part)
    expect(text).toContain(escaped('ask: approval mutations'))
  })

  test('nothing that others wrote can begin Markdown, HTML, a link, a mention or a table cell', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        expect(escaped(text)).not.toMatch(/[<>|`*_[\]@~:!"'\\#\r\n](?<!&#)/)
        expect(escaped(text).replaceAll(/&#\d+;/g, '')).not.toMatch(/[<>|`*_[\]@~:!"'\\#&\r\n]/)
      }),
    )
    expect(escaped('| <img src=x> [a](https://evil) @team')).not.toContain('<')
  })

  test('letters of any script stay as they are', () => {
    expect(escaped('Größe 大きさ عربي')).toBe('Größe 大きさ عربي')
  })

  test('one row a task, whatever is in its message', () => {
    const text = summaryText(outcome(), facts([task({ message: 'a\n| b |\n## c' }), task()]))
    expect(text.split('\n').filter(line => line.startsWith('| publish '))).toHaveLength(2)
    expect(text).not.toContain('## c')
  })

  test('says how process effects were held, what was absent, and once that this is no sandbox', () => {
    const held = (enforcement: JsonObject | null, name: string) => task({ task: name, enforcement })
    const absent = [{ guarantee: 'findable_after_crash', reason: '<b>no /run</b>' }]
    const left = [{ pid: 7, command: 'x|y' }]
    const text = summaryText(
      outcome(),
      facts([
        held({ containment: 'cgroup', absent: [], left: [] }, 'a'),
        held({ containment: 'cgroup', absent: [], left: [] }, 'b'),
        held({ containment: 'best-effort', absent, left }, 'c'),
        held(null, 'd'),
      ]),
    )
    expect(text.match(/not a sandbox/g)).toHaveLength(1)
    expect(text).toContain('- a, b&#58; containment cgroup\n')
    const lost = 'absent guarantee findable_after_crash (<b>no /run</b>); process 7 (x|y) could not be ended'
    expect(text).toContain(`- ${escaped(`c: containment best-effort; ${lost}`)}\n`)
    expect(text).not.toContain('<b>')
    expect(summaryText(outcome(), facts([held(null, 'd')]))).not.toContain('sandbox')
  })

  test('tells of every approval who decided, when and why', () => {
    const text = summaryText(outcome(), {
      ...facts([]),
      approvals: [
        approval({
          outcome: 'approved',
          by: [{ id: 1, login: 'bob' }],
          reason: 'looks @right',
          at: '2026-01-02T03:04:05.000Z',
          via: 'comment',
        }),
        approval({ outcome: 'expired', by: [], reason: '', at: '2026-01-03T03:04:05.000Z', via: 'system' }),
      ],
    })
    expect(text).toContain(escaped('approved by bob: looks @right (2026-01-02T03:04:05.000Z)'))
    expect(text).toContain(escaped('expired (2026-01-03T03:04:05.000Z)'))
    expect(text).not.toContain('@right')
  })

  test('is cut at 900 KiB between lines, with where the rest is', () => {
    const text = summaryText(outcome(), facts(Array.from({ length: 3_000 }, () => task({ message: 'é'.repeat(300) }))))
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(921_600)
    expect(Buffer.byteLength(text)).toBeGreaterThan(900_000)
    expect(text).toMatch(/\*\*Cut here\.\*\* The rest is in the audit trail: https:\/\/agentctl\.example\/run-1\n$/)
  })
})

describe('outputs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentctl-outputs-'))
  const file = join(folder, 'output')
  const before = process.env['GITHUB_OUTPUT']
  beforeEach(() => {
    writeFileSync(file, '')
    process.env['GITHUB_OUTPUT'] = file
  })
  afterEach(() => {
    if (before === undefined) delete process.env['GITHUB_OUTPUT']
    else process.env['GITHUB_OUTPUT'] = before
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const read = () => readOutputs(readFileSync(file, 'utf8'))

  test('every output is set', () => {
    writeOutputs(
      outcome({ status: 'paused', exitCode: 3, issue: { number: 7, url: 'https://x.example/7' }, outputs: { a: 1 } }),
    )
    expect(read()).toEqual({
      status: 'paused',
      'exit-code': '3',
      'run-id': 'run-1',
      'plan-digest': 'p'.repeat(64),
      'approval-issue-number': '7',
      'approval-issue-url': 'https://x.example/7',
      outputs: '{"a":1}',
      'audit-url': 'https://agentctl.example/run-1',
      'audit-head': 'h'.repeat(64),
    })
  })

  test('a value with newlines, quotes and delimiters is data', () => {
    const hostile = 'x\nstatus<<EOF\nsucceeded\nEOF\n$(id) ::set-output name=a::b'
    writeOutputs(outcome({ status: 'failed', exitCode: 4, outputs: { hostile }, auditUrl: 'a\nb' }))
    expect(read()).toMatchObject({
      status: 'failed',
      'exit-code': '4',
      'audit-url': 'a\nb',
      outputs: JSON.stringify({ hostile }),
    })
  })

  test.each([
    [262_144, true],
    [262_145, false],
  ])('%i bytes as they are: %s', (size, whole) => {
    const outputs = { t: 'x'.repeat(size - '{"t":""}'.length) }
    const text = JSON.stringify(outputs)
    expect(text).toHaveLength(size)
    const shown = outputsText({ outputs, auditUrl: 'https://x.example' })
    if (whole) expect(shown).toBe(text)
    else expect(JSON.parse(shown)).toEqual({ sha256: sha256(text), bytes: size, auditUrl: 'https://x.example' })
  })

  test('no outputs are an empty object', () => {
    expect(outputsText({ outputs: null, auditUrl: '' })).toBe('{}')
  })
})

describe('how it ends', () => {
  test.each([
    ['succeeded', 'succeeded'],
    ['paused', 'paused'],
    ['denied', 'denied'],
    ['failed', 'failed'],
    ['uncertain', 'uncertain'],
    ['cancelled', 'cancelled'],
    ['running', 'uncertain'],
    ['something new', 'uncertain'],
  ])('state %s is status %s', (state, status) => {
    expect(statusOf(state)).toBe(status)
  })

  test.each<[Outcome['status'], number, 'fail' | 'succeed', number]>([
    ['paused', 3, 'fail', 3],
    ['paused', 3, 'succeed', 0],
    ['paused', 130, 'succeed', 130],
    ['denied', 3, 'succeed', 3],
    ['failed', 4, 'succeed', 4],
    ['succeeded', 0, 'fail', 0],
    ['cancelled', 130, 'succeed', 130],
  ])('%s with %i and on-pause %s exits %i', (status, exitCode, onPause, expected) => {
    expect(processExit(outcome({ status, exitCode }), onPause)).toBe(expected)
  })

  const answer = (
    recorded: Partial<NonNullable<AttachAnswer['recorded']>> | null,
    row: AttachAnswer['outcome'] = 'ended',
  ): AttachAnswer => ({
    outcome: row,
    run: 'run-1',
    epoch: 2,
    lease: null,
    repository: { id: 1, owner: 'o', name: 'r', isPublic: false },
    floor: null,
    floorDigest: null,
    settings: defaultApprovalSettings,
    parent: null,
    recorded:
      recorded === null
        ? null
        : {
            state: 'succeeded',
            exitCode: 0,
            planDigest: 'p'.repeat(64),
            outputs: { a: 1 },
            head: 'h'.repeat(64),
            pause: null,
            issue: null,
            message: '',
            ...recorded,
          },
    auditUrl: 'https://x.example',
  })

  test('a run that succeeded before: its outputs again, and that nothing was repeated', () => {
    const again = recordedOutcome(answer({}))
    expect(again).toMatchObject({ status: 'succeeded', exitCode: 0, outputs: { a: 1 }, run: 'run-1' })
    expect(again.messages.join()).toMatch(/nothing ran again/)
  })

  test.each<[AttachAnswer['outcome'], string, number, Outcome['status']]>([
    ['ended', 'denied', 3, 'denied'],
    ['ended', 'cancelled', 130, 'cancelled'],
    ['pending', 'paused', 3, 'paused'],
    ['uncertain', 'uncertain', 4, 'uncertain'],
  ])('%s %s: the recorded exit code again, in the words of the record', (row, state, exitCode, status) => {
    const again = recordedOutcome(answer({ state, exitCode, message: 'reconcile it' }, row))
    expect(again).toMatchObject({ status, exitCode, messages: ['reconcile it'] })
  })

  test('an answer without a record is a fault, never green', () => {
    expect(recordedOutcome(answer(null))).toMatchObject({ status: 'failed', exitCode: 5 })
  })
})
