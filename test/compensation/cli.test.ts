import { afterAll, beforeEach, expect, test } from 'vitest'
import { createDesk, type Desk, envelopeOf } from '../cli/support.ts'

const desks: Desk[] = []
let desk: Desk
beforeEach(() => {
  desk = createDesk()
  desks.push(desk)
})
afterAll(() => {
  for (const made of desks) made.dispose()
})

const document = (more = '', approval = 'never') => `
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {name: undo}
spec:
  policy: {writableRoots: [out], approval: ${approval}}
  ${more}
  actions: {write: {kind: builtin.write}, assert: {kind: builtin.assert}}
  tasks:
    - id: a
      uses: action:write
      with: {path: out/a, content: done}
      compensate: {uses: "action:write", with: {path: out/a, content: undone}}
    - {id: z, uses: "action:assert", needs: [a], with: {that: false, message: broken}}
`
const json = async (...argv: string[]) => {
  const ended = await desk.cli(...argv, '--output', 'json')
  return { code: ended.code, ...envelopeOf(ended) }
}

test('compensate RUN undoes, exits 0 and leaves the run failed; again it has nothing to do', async () => {
  desk.put('w.yaml', document())
  const failed = await json('run', 'w.yaml')
  expect(failed).toMatchObject({ code: 4, data: { state: 'failed' } })
  const run = failed.data.runId
  expect(failed.diagnostics.map(({ message }) => message).join()).toContain(`agentctl compensate ${run}`)
  for (let time = 0; time < 2; time += 1) {
    const undone = await json('compensate', run, '--reason', 'the release is off')
    expect(undone).toMatchObject({ code: 0, ok: true, data: { runId: run, state: 'failed', compensated: ['a'] } })
    expect(desk.get('out/a')).toBe('undone')
  }
  expect(await json('resume', run)).toMatchObject({ code: 4, data: { state: 'failed' } })
  const { data } = await json('inspect', run)
  expect(
    data.effects.map((effect: { task: string; error: { code: string } | null }) => [effect.task, effect.error?.code]),
  ).toEqual([
    ['a', 'compensated'],
    ['z', 'assertion_failed'],
    ['a--compensate', undefined],
  ])
  expect((await desk.cli('effects', 'list', run)).stdout).toMatch(/ a builtin\.write failed \(compensated\)\n/)
  const trail = (await desk.cli('audit', 'export', run)).stdout
  expect(trail).toContain('the release is off')
  desk.put('trail.ndjson', trail)
  expect((await desk.cli('audit', 'verify', 'trail.ndjson')).code).toBe(0)
})

test('it pauses for a person as a run does: exit 3, approve, and resume or compensate goes on', async () => {
  desk.put('w.yaml', document('compensation: {approval: always}'))
  const { data } = await json('run', 'w.yaml')
  const run: string = data.runId
  const asked = await json('compensate', run)
  expect(asked).toMatchObject({ code: 3, data: { state: 'paused', approvals: [{ task: 'a--compensate' }] } })
  expect(desk.get('out/a')).toBe('done')
  expect(await json('compensate', run)).toMatchObject({ code: 3, data: { state: 'paused' } })
  await desk.cli('approvals', 'approve', asked.data.approvals[0].id, '--reason', 'fine')
  expect(await json('compensate', run)).toMatchObject({ code: 0, data: { state: 'failed', compensated: ['a'] } })
  expect(desk.get('out/a')).toBe('undone')
})

test('rejected, it undoes nothing and is no success; asked again, it asks again', async () => {
  desk.put('w.yaml', document('compensation: {approval: always}'))
  const { data } = await json('run', 'w.yaml')
  const asked = await json('compensate', data.runId)
  await desk.cli('approvals', 'reject', asked.data.approvals[0].id, '--reason', 'no')
  expect(desk.get('out/a')).toBe('done')
  const again = await json('compensate', data.runId)
  expect(again).toMatchObject({ code: 3, data: { state: 'paused', approvals: [{ task: 'a--compensate-2' }] } })
})

test('a stopped compensation exits 4 and names what is left', async () => {
  desk.put('w.yaml', document().replace('path: out/a, content: undone', 'path: elsewhere, content: undone'))
  const { data } = await json('run', 'w.yaml')
  const stopped = await json('compensate', data.runId)
  expect(stopped).toMatchObject({ code: 4, ok: false, data: { state: 'failed' } })
  expect(stopped.diagnostics.map(({ message }) => message).join()).toContain('not compensated: a')
})

test('a document that has changed since does not stand in the way: the stored plan says how it is undone', async () => {
  desk.put('w.yaml', document())
  const { data } = await json('run', 'w.yaml')
  desk.put('w.yaml', document().replace('content: undone', 'content: other'))
  expect(await json('compensate', data.runId)).toMatchObject({ code: 0 })
  expect(desk.get('out/a')).toBe('undone')
})

test('a workspace that somebody changed stops it before it overwrites anything; put back, it goes on', async () => {
  desk.put('w.yaml', document())
  const { data } = await json('run', 'w.yaml')
  desk.put('out/a', 'by hand')
  const stopped = await json('compensate', data.runId)
  expect(stopped.code).toBe(4)
  expect(stopped.diagnostics.map(({ message }) => message).join()).toContain('workspace_diverged')
  expect(desk.get('out/a')).toBe('by hand')
  desk.put('out/a', 'done')
  expect(await json('compensate', data.runId)).toMatchObject({ code: 0, data: { compensated: ['a'] } })
})

test.each([
  ['a run that succeeded', document().replace('that: false', 'that: true'), 'run_succeeded'],
  ['a run that declares nothing', document().replace(/\n +compensate:.*/, ''), 'nothing_to_compensate'],
  ['a run that waits', document('', 'mutations'), 'not_ended'],
])('%s is refused by name', async (_, text, code) => {
  desk.put('w.yaml', text)
  const { data } = await json('run', 'w.yaml')
  const refused = await json('compensate', data.runId)
  expect(refused).toMatchObject({ code: 2, ok: false, diagnostics: [{ code }] })
})

test('a run that is not there is refused', async () => {
  desk.put('w.yaml', document())
  await json('run', 'w.yaml')
  expect(await json('compensate', 'nowhere')).toMatchObject({ code: 2, diagnostics: [{ code: 'run_not_found' }] })
})

test('automatic: the run undoes it before it ends', async () => {
  desk.put('w.yaml', document('compensation: {onFailure: automatic}'))
  expect(await json('run', 'w.yaml')).toMatchObject({ code: 4, data: { state: 'failed' } })
  expect(desk.get('out/a')).toBe('undone')
})

/** How a run comes to each end, the outcome of its undoing aside. */
const ends = {
  failed: {
    policy: 'approval: never',
    last: '{id: z, uses: "action:assert", needs: [a], with: {that: false, message: broken}}',
    code: 4,
  },
  'denied by policy': {
    policy: 'approval: never',
    last: '{id: z, uses: "action:write", needs: [a], with: {path: elsewhere, content: x}}',
    code: 3,
  },
  rejected: { policy: 'approval: high_risk', last: '{id: z, uses: "action:risky", needs: [a]}', code: 3 },
  cancelled: { policy: 'approval: high_risk', last: '{id: z, uses: "action:risky", needs: [a]}', code: 130 },
}
const cases = Object.keys(ends).flatMap(how => [true, false].map(undone => [how as keyof typeof ends, undone] as const))

test.each(cases)('%s, its undoing succeeds: %s; the run stays what it was', async (how, undone) => {
  const { policy, last, code } = ends[how]
  desk.put(
    'w.yaml',
    `
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: {name: undo}
spec:
  policy: {writableRoots: [out], processAllowlist: ["true", "false"], ${policy}}
  actions:
    write: {kind: builtin.write}
    assert: {kind: builtin.assert}
    risky: {kind: builtin.shell.exec, command: /usr/bin/true}
  tasks:
    - id: a
      uses: action:write
      with: {path: out/a, content: done}
      compensate: {uses: "action:assert", with: {that: ${undone}, message: cannot be undone}}
    - ${last}
`,
  )
  const first = await json('run', 'w.yaml')
  const run: string = first.data.runId
  if (how === 'rejected') await desk.cli('approvals', 'reject', first.data.approvals[0].id, '--reason', 'no')
  if (how === 'cancelled') await desk.cli('cancel', run, '--reason', 'no')
  const before = (await json('resume', run)).data.state
  expect(before).toBe(how === 'denied by policy' || how === 'rejected' ? 'denied' : how)
  expect(await json('compensate', run)).toMatchObject({ code: undone ? 0 : 4, ok: undone, data: { state: before } })
  expect(await json('resume', run)).toMatchObject({ code, data: { state: before } })
  expect((await json('inspect', run)).data.run.state).toBe(before)
})
