import { afterEach, beforeEach, expect, it } from 'vitest'
import { faultOutcome } from '../../action/outcome.ts'
import { escaped, summaryText } from '../../action/summary.ts'
import { itemSection } from '../../policy/approval/issue-item.ts'
import type { ApprovalRecord } from '../../policy/approval/record.ts'
import { type DecisionStep, decisionSteps } from '../../policy/decision/index.ts'
import { createDesk, type Desk, documentOf, envelopeOf, gated } from '../cli/support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
  desk.put('gated.yaml', gated)
})
afterEach(() => desk.dispose())

async function paused(): Promise<ApprovalRecord> {
  const ended = await desk.cli('run', 'gated.yaml', '--output', 'json')
  expect(ended.code).toBe(3)
  return envelopeOf(ended).data.approvals[0]
}

it('explain, the approval and its issue give the same five answers, each with rule, origin and subject', async () => {
  const explained = await desk.cli('explain', 'gated.yaml', 'gated', '--output', 'json')
  const steps: DecisionStep[] = envelopeOf(explained).data.decision.steps
  expect(steps.map(({ step }) => step)).toEqual([...decisionSteps])
  for (const { rule, origin, subject } of steps) expect([rule, origin, subject]).not.toContain('')

  const record = await paused()
  expect(record.decisionTrace).toEqual(steps)
  const section = itemSection(record, 'https://example.test/approvals/1', false)
  const told = section.split('\n').filter(line => line.startsWith('  - '))
  expect(told.map(line => /^ {2}- (\w+): (\w+) by `([^`]+)` \((\w+)\)/.exec(line)?.slice(1))).toEqual(
    steps.map(({ step, outcome, rule, origin }) => [step, outcome, rule, origin]),
  )
  expect(told[2]).toContain('gated.txt')
})

it('an issue of the kind `summary` keeps the subjects behind the sign-in', async () => {
  const section = itemSection(await paused(), 'https://example.test/approvals/1', true)
  expect(section).not.toContain('gated.txt')
  expect(section).not.toContain('Decided')
})

it('explain says what to change where the answer is no, and stops there', async () => {
  desk.put(
    'denied.yaml',
    documentOf({
      actions: { write: { kind: 'builtin.write' } },
      tasks: [{ id: 'w', uses: 'action:write', with: { path: 'out/x', content: 'x' } }],
    }),
  )
  const { data } = envelopeOf(await desk.cli('explain', 'denied.yaml', 'w', '--output', 'json'))
  expect(data.decision.steps.map(({ step, outcome }: DecisionStep) => [step, outcome])).toEqual([
    ['visible', 'allow'],
    ['authorised', 'allow'],
    ['resource', 'deny'],
  ])
  const last: DecisionStep = data.decision.steps[2]
  expect([last.rule, last.origin, last.remedy === '']).toEqual(['writableRoots', 'default', false])
  const human = (await desk.cli('explain', 'denied.yaml', 'w')).stdout
  for (const part of [last.rule, last.subject, last.remedy, `(${last.origin})`]) expect(human).toContain(part)
})

it('the job summary has the same answers, as text only', () => {
  const steps: DecisionStep[] = decisionSteps.map(step => ({
    step,
    outcome: step === 'approval' ? 'ask' : 'allow',
    rule: `${step}Rule`,
    subject: step === 'resource' ? 'out/<b>|x.txt' : step,
    origin: 'document',
    remedy: step === 'approval' ? 'approve it' : '',
  }))
  const line = {
    task: 'w',
    kind: 'builtin.write',
    state: 'waiting',
    milliseconds: 0,
    decisions: [],
    message: '',
    enforcement: null,
    steps,
  }
  const text = summaryText(faultOutcome('paused', 3, []), {
    document: 'd',
    tasks: [line],
    approvals: [],
    hostFloor: 'none',
  })
  const rows =
    text
      .split('### Decisions')[1]
      ?.split('\n')
      .filter(row => row.startsWith('| w |')) ?? []
  expect(rows).toEqual(
    steps.map(
      ({ step, outcome, rule, origin, subject, remedy }) =>
        `|${['w', step, outcome, rule, origin, subject, remedy].map(cell => ` ${escaped(cell)} `).join('|')}|`,
    ),
  )
  expect(text).not.toContain('<b>')
})
