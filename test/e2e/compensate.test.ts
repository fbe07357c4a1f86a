import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

/** A write that can be undone, then what stops the run. */
const spec = (more: JsonObject = {}): JsonObject => ({
  policy: { writableRoots: ['out'], approval: 'never' },
  actions: { write: { kind: 'builtin.write' }, check: { kind: 'builtin.assert' } },
  tasks: [
    {
      id: 'made',
      uses: 'action:write',
      with: { path: 'out/state.txt', content: 'made' },
      compensate: { uses: 'action:write', with: { path: 'out/state.txt', content: 'undone' } },
    },
    { id: 'stops', uses: 'action:check', needs: ['made'], with: { that: false, message: 'no' } },
  ],
  ...more,
})

test('by hand through the API: the job is run again to undo, once, by whoever may write', async () => {
  const play = await stage.begin({ spec: spec() })
  const run = play.step().outputs['run-id'] ?? ''
  expect(play.step().outputs['status']).toBe('failed')
  const path = `/runs/${run}/compensate`
  const body = { reason: 'roll it back' }
  expect((await play.ask(path, { login: 'dave', body })).status).toBe(403)
  expect((await play.ask(path, { login: 'carol', body })).status).toBe(403)
  expect(play.handle.run.attempts).toHaveLength(1)

  const asked = await play.ask(path, { login: 'bob', body })
  expect(asked).toMatchObject({ status: 200, body: { state: 'paused' } })
  expect((await play.ask(path, { login: 'bob', body })).status).toBe(409)
  await stage.scene.github.until(() => play.handle.run.attempts.length > 1)
  await play.handle.completed()

  // Undone, and red all the same: what was undone has not succeeded.
  expect(play.file('out/state.txt')).toBe('undone')
  expect(play.step().outputs).toMatchObject({ status: 'failed', 'run-id': run, 'exit-code': '4' })
  expect((await play.ask(`/runs/${run}`)).body['state']).toBe('failed')
  const events = await play.events(run)
  expect(events.filter(({ type }) => type === 'run.compensating')).toMatchObject([
    { data: { from: 'failed', person: { login: 'bob' }, reason: 'roll it back' } },
  ])
  expect(events.filter(({ type }) => type === 'effect.compensated')).toHaveLength(1)
  expect(await play.ask(path, { login: 'bob', body })).toMatchObject({
    status: 409,
    body: { code: 'nothing_to_compensate' },
  })
  expect(play.handle.run.attempts).toHaveLength(2)
})

test('what cannot be undone is refused by name', async () => {
  const body = { reason: 'r' }
  const well = await stage.begin({ spec: { ...spec(), tasks: [(spec()['tasks'] as JsonObject[])[0] ?? {}] } })
  const done = well.step().outputs['run-id'] ?? ''
  const refused = await well.ask(`/runs/${done}/compensate`, { login: 'bob', body })
  expect(refused.status).toBe(409)
  expect(String(refused.body['detail'])).toContain('is succeeded')

  const play = await stage.begin({ spec: spec() })
  const first = play.step().outputs['run-id'] ?? ''
  await play.again()
  expect(play.step().outputs['run-id']).not.toBe(first)
  const followed = await play.ask(`/runs/${first}/compensate`, { login: 'bob', body })
  expect(followed.status).toBe(409)
  expect(String(followed.body['detail'])).toContain('was followed by run')
  expect((await play.ask('/runs/none/compensate', { login: 'bob', body })).status).toBe(404)
})

test('by itself after a rejection: the resolution alone has the job undo it, and it ends denied', async () => {
  const [made] = spec()['tasks'] as JsonObject[]
  const gated = { id: 'gate', uses: 'action:run', needs: ['made'] }
  const play = await stage.begin({
    spec: {
      ...spec(),
      policy: { writableRoots: ['out'], processAllowlist: ['true'], approval: 'high_risk' },
      actions: { write: { kind: 'builtin.write' }, run: { kind: 'builtin.shell.exec', command: '/usr/bin/true' } },
      tasks: [made ?? {}, gated],
      compensation: { onFailure: 'automatic' },
    },
  })
  const run = play.step().outputs['run-id'] ?? ''
  await play.decide('/reject')
  expect(play.file('out/state.txt')).toBe('undone')
  expect(play.step().outputs).toMatchObject({ status: 'denied', 'run-id': run, 'exit-code': '3' })
  const events = await play.events(run)
  expect(events.filter(({ type }) => type === 'effect.compensated')).toHaveLength(1)
  await play.again()
  expect(play.step().outputs).toMatchObject({ status: 'denied', 'exit-code': '3' })
})

test('by itself after a rejection, and failing: it ends denied, and another attempt gets that instead of a new run', async () => {
  const [made] = spec()['tasks'] as JsonObject[]
  const play = await stage.begin({
    spec: {
      policy: { writableRoots: ['out'], processAllowlist: ['true'], approval: 'high_risk' },
      actions: {
        write: { kind: 'builtin.write' },
        check: { kind: 'builtin.assert' },
        run: { kind: 'builtin.shell.exec', command: '/usr/bin/true' },
      },
      tasks: [
        { ...made, compensate: { uses: 'action:check', with: { that: false, message: 'no' } } },
        { id: 'gate', uses: 'action:run', needs: ['made'] },
      ],
      compensation: { onFailure: 'automatic' },
    },
  })
  const run = play.step().outputs['run-id'] ?? ''
  await play.decide('/reject')
  expect(play.step().outputs).toMatchObject({ status: 'denied', 'run-id': run, 'exit-code': '3' })
  expect((await play.ask(`/runs/${run}`)).body['state']).toBe('denied')
  await play.again()
  expect(play.step().outputs).toMatchObject({ status: 'denied', 'run-id': run, 'exit-code': '3' })
})
