import { afterEach, expect, test } from 'vitest'
import { createScene, freely, getFile, planOf, type Scene, start, statesOf, write } from './support.ts'

const scenes: Scene[] = []
function scene(files = {}): Scene {
  const made = createScene(files)
  scenes.push(made)
  return made
}
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})

const assign = { kind: 'builtin.assign' }

test('pure tasks: values flow, outputs are resolved, the run succeeds', async () => {
  const here = scene()
  const plan = planOf({
    inputs: { name: 'world', list: [1, { a: null }] },
    outputs: { greeting: '${{ tasks.greet.output.output.message }}', list: '${{ tasks.greet.output.output.list }}' },
    actions: { assign, assert: { kind: 'builtin.assert' } },
    tasks: [
      {
        id: 'greet',
        uses: 'action:assign',
        with: { message: 'hello, ${{ inputs.name }}', list: '${{ inputs.list }}' },
      },
      {
        id: 'check',
        uses: 'action:assert',
        needs: ['greet'],
        with: { that: "${{ tasks.greet.output.output.message == 'hello, world' }}" },
      },
    ],
  })
  const outcome = await start(here, plan)
  expect(outcome).toMatchObject({
    state: 'succeeded',
    exitCode: 0,
    outputs: { greeting: 'hello, world', list: [1, { a: null }] },
    messages: [],
  })
})

test('a write: the file, its output, its artifact, and the same bytes again request nothing', async () => {
  const here = scene({ 'out/old.txt': 'one\ntwo\n' })
  const plan = planOf({
    policy: freely,
    actions: { write },
    outputs: { first: '${{ tasks.first.output }}', again: '${{ tasks.again.output.status }}' },
    tasks: [
      { id: 'first', uses: 'action:write', with: { path: 'out/old.txt', content: 'one\nthree\n' } },
      { id: 'again', uses: 'action:write', needs: ['first'], with: { path: 'out/old.txt', content: 'one\nthree\n' } },
      { id: 'deep', uses: 'action:write', needs: ['first'], with: { path: 'out/a/b/c.txt', content: 'c' } },
    ],
  })
  const outcome = await start(here, plan)
  expect(outcome.state).toBe('succeeded')
  expect(outcome.outputs).toMatchObject({
    first: { status: 'changed', changed: true, before: 'one\ntwo\n', after: 'one\nthree\n', path: 'out/old.txt' },
    again: 'unchanged',
  })
  expect(getFile(here, 'out/old.txt')).toBe('one\nthree\n')
  expect(getFile(here, 'out/a/b/c.txt')).toBe('c')
  const effects = here.ledger.store.effects(outcome.run)
  expect(effects.map(({ task, state }) => [task, state])).toEqual([
    ['first', 'succeeded'],
    ['deep', 'succeeded'],
  ])
  expect(effects[0]?.artifacts).toMatchObject([{ path: 'out/old.txt', mode: 0o644 }])
})

test('skip: a false condition and what depends on it', async () => {
  const here = scene()
  const plan = planOf({
    inputs: { deploy: false },
    outputs: { reason: '${{ tasks.deploy.output.reason }}' },
    actions: { assign },
    tasks: [
      { id: 'deploy', uses: 'action:assign', when: '${{ inputs.deploy == true }}', with: {} },
      { id: 'after', uses: 'action:assign', needs: ['deploy'], with: {} },
      { id: 'other', uses: 'action:assign', with: {} },
    ],
  })
  const outcome = await start(here, plan)
  expect(outcome).toMatchObject({ state: 'succeeded', outputs: { reason: 'the condition is false' } })
  expect(statesOf(here, outcome.run)).toEqual({ deploy: 'skipped', after: 'skipped', other: 'succeeded' })
  const [deploy] = here.ledger.store.snapshot(outcome.run)?.tasks ?? []
  expect(deploy?.condition).toMatchObject({ expression: 'inputs.deploy == true', result: false })
})
