import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { openStage, type Stage } from '../e2e/stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(async () => {
  await stage.close()
})

const undone = (approval: string, more: JsonObject = {}): JsonObject => ({
  policy: { writableRoots: ['out'], approval },
  compensation: { onFailure: 'automatic', ...more },
  actions: { write: { kind: 'builtin.write' }, assert: { kind: 'builtin.assert' } },
  tasks: [
    {
      id: 'a',
      uses: 'action:write',
      with: { path: 'out/a', content: 'done' },
      compensate: { uses: 'action:write', with: { path: 'out/a', content: 'undone' } },
    },
    { id: 'z', uses: 'action:assert', needs: ['a'], with: { that: false, message: 'broken' } },
  ],
})

test('a job undoes what it did before it fails, through the control plane', async () => {
  const play = await stage.begin({ spec: undone('never') })
  expect(play.step().outputs).toMatchObject({ status: 'failed', 'exit-code': '4' })
  expect(play.file('out/a')).toBe('undone')
  expect((await play.events()).map(({ type }) => type)).toEqual(
    expect.arrayContaining(['run.compensating', 'effect.compensated', 'run.finished']),
  )
  expect(play.issues()).toEqual([])
})

test('a pause inside compensation is an issue like any other; approved, the next attempt undoes in a new checkout', async () => {
  const play = await stage.begin({ spec: undone('never', { approval: 'always' }) })
  expect(play.step().outputs).toMatchObject({ status: 'paused', 'exit-code': '3' })
  expect(play.file('out/a')).toBe('done')
  const issue = await play.issue()
  expect(issue.body).toContain('a--compensate')
  await play.decide('/approve')
  expect(play.step().outputs).toMatchObject({ status: 'failed', 'exit-code': '4' })
  expect(play.file('out/a')).toBe('undone')
  const events = await play.events()
  expect(events.filter(({ type }) => type === 'effect.compensated')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'run.compensating')).toHaveLength(1)
})

test('rejected, nothing is undone and no job starts again', async () => {
  const play = await stage.begin({ spec: undone('never', { approval: 'always' }) })
  const issue = await play.issue()
  play.say(issue, 'bob', '/reject')
  const run = play.step().outputs['run-id']
  const { github } = stage.scene
  await github.until(async () => ((await play.ask(`/runs/${run}`)).body['state'] === 'failed' ? true : undefined))
  expect(play.handle.run.attempts).toHaveLength(1)
  expect((await play.events()).some(({ type }) => type === 'effect.compensated')).toBe(false)
})
