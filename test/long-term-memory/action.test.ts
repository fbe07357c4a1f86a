import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { openStage, type Stage } from '../e2e/stage.ts'
import { workflowPath } from '../harness/scene.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(async () => {
  await stage.close()
})

const kind = (name: string) => ({ kind: `builtin.long_term_memory.${name}` })
const spec = (approval: string): JsonObject => ({
  policy: { approval },
  memory: { longTerm: { namespace: 'release', retentionDays: 30 } },
  actions: { search: kind('search'), write: kind('write'), read: kind('read') },
  tasks: [
    { id: 'before', uses: 'action:search', with: { query: 'last', limit: 5 } },
    { id: 'w', uses: 'action:write', needs: ['before'], with: { key: 'last/version', value: { n: 1 } } },
    { id: 'r', uses: 'action:read', needs: ['w'], with: { key: 'last/version' } },
  ],
  outputs: {
    found: '${{ tasks.before.output.items }}',
    read: '${{ tasks.r.output.value }}',
  },
})

test('a job writes and reads the memory of its repository; a later run finds it, another repository does not', async () => {
  const play = await stage.begin({ spec: spec('never') })
  expect(play.step().outputs).toMatchObject({ status: 'succeeded' })
  expect(JSON.parse(play.step().outputs['outputs'] ?? '')).toEqual({ found: [], read: { n: 1 } })
  const { github } = stage.scene
  const second = github.startRun(play.repository, workflowPath, { actor: 'alice', event: 'push' })
  await second.completed()
  expect(JSON.parse(second.action().outputs['outputs'] ?? '')).toEqual({
    found: [{ key: 'last/version', value: { n: 1 } }],
    read: { n: 1 },
  })
  const elsewhere = await stage.begin({ spec: spec('never') })
  expect(JSON.parse(elsewhere.step().outputs['outputs'] ?? '')).toMatchObject({ found: [] })
})

test('a write that a person must decide is an issue; approved, the resumed job writes it', async () => {
  const play = await stage.begin({ spec: spec('mutations') })
  expect(play.step().outputs).toMatchObject({ status: 'paused' })
  expect((await play.issue()).body).toContain('last/version')
  await play.decide('/approve')
  expect(play.step().outputs).toMatchObject({ status: 'succeeded' })
  expect((await play.events()).filter(({ type }) => type === 'long_term.written')).toHaveLength(1)
})
