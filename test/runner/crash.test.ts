import { afterEach, expect, test } from 'vitest'
import { type Plan, planDigest } from '../../policy/document/index.ts'
import { type Aftermath, crash, dyingLedger } from './crash.ts'
import { createScene, getFile, planOf, type Scene, start, write } from './support.ts'

const scenes: Scene[] = []
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})

/** Ten tasks: writes, processes that leave a line outside every workspace, memory, pure ones. */
function tenTasks(log: string, maxConcurrency: number, approval: string): Plan {
  const tool = (id: string) => ({
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['-c', `echo ${id} >> '${log}'`],
  })
  return planOf({
    runtime: { maxConcurrency },
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval },
    outputs: { memory: '${{ tasks.recall.output.value }}' },
    actions: {
      write,
      assign: { kind: 'builtin.assign' },
      remember: { kind: 'builtin.memory.write' },
      recall: { kind: 'builtin.memory.read' },
      'tool-a': tool('tool-a'),
      'tool-b': tool('tool-b'),
      'tool-c': tool('tool-c'),
    },
    tasks: [
      { id: 'value', uses: 'action:assign', with: { text: 'from value' } },
      {
        id: 'one',
        uses: 'action:write',
        needs: ['value'],
        with: { path: 'out/one', content: '${{ tasks.value.output.output.text }}' },
      },
      { id: 'tool-a', uses: 'action:tool-a' },
      {
        id: 'remember',
        uses: 'action:remember',
        needs: ['one'],
        with: { key: 'k', value: '${{ tasks.one.output.path }}' },
      },
      { id: 'one-again', uses: 'action:write', needs: ['one'], with: { path: 'out/one', content: 'later' } },
      { id: 'two', uses: 'action:write', with: { path: 'out/deep/two', content: 'two' } },
      { id: 'tool-b', uses: 'action:tool-b', needs: ['tool-a'] },
      { id: 'recall', uses: 'action:recall', needs: ['remember'], with: { key: 'k' } },
      {
        id: 'three',
        uses: 'action:write',
        needs: ['recall'],
        with: { path: 'out/three', content: '${{ tasks.recall.output.value }}' },
      },
      { id: 'tool-c', uses: 'action:tool-c', needs: ['tool-b', 'three'] },
    ],
  })
}

function expectExactlyOnce({ scene, state, ran, isVerified }: Aftermath): void {
  expect(state, scene.events.map(event => JSON.stringify(event)).join('\n')).toBe('succeeded')
  expect(Object.fromEntries(ran)).toEqual({ 'tool-a': 1, 'tool-b': 1, 'tool-c': 1 })
  expect(['one', 'deep/two', 'three'].map(name => getFile(scene, `out/${name}`))).toEqual(['later', 'two', 'out/one'])
  expect(isVerified).toBe(true)
}

test.each([
  ['before', 'one at a time', 1, 'never'],
  ['after', 'four at a time', 4, 'never'],
  ['after', 'four at a time, gated', 4, 'mutations'],
] as const)(
  'death %s each ledger call, %s: each effect ran once, or was uncertain until reconciled',
  async (when, _, maxConcurrency, approval) => {
    let deaths = 0
    let uncertain = 0
    for (let at = 1; ; at += 1) {
      const after = await crash({ plan: log => tenTasks(log, maxConcurrency, approval), at, when })
      scenes.push(after.scene)
      expectExactlyOnce(after)
      uncertain += after.uncertain
      if (!after.died) break
      deaths += 1
      after.scene.dispose()
      scenes.pop()
    }
    expect(deaths).toBeGreaterThan(8)
    expect(uncertain).toBeGreaterThan(0)
  },
)

test('one commit for each boundary of a run, one for its end', async () => {
  const scene = createScene()
  scenes.push(scene)
  const counted = dyingLedger(scene.ledger, Number.MAX_SAFE_INTEGER, 'after')
  const commits: string[][] = []
  const { apply } = counted.ledger
  counted.ledger.apply = batch => {
    commits.push(batch.commands.map(({ type }) => type))
    return apply(batch)
  }
  const plan = planOf({
    policy: { writableRoots: ['out'], approval: 'never' },
    actions: { write, assign: { kind: 'builtin.assign' } },
    tasks: [
      { id: 'a', uses: 'action:write', with: { path: 'out/a', content: 'a' } },
      { id: 'b', uses: 'action:write', with: { path: 'out/b', content: 'b' } },
      { id: 'c', uses: 'action:assign', with: {} },
    ],
  })
  expect(planDigest(plan)).toBe(plan.planDigest)
  await start(scene, plan, { ports: { ledger: counted.ledger } })
  expect(commits).toEqual([
    ['run.create', 'task.move', 'effect.request', 'effect.start'],
    ['effect.finish', 'task.move', 'task.move', 'effect.request', 'effect.start'],
    ['effect.finish', 'task.move', 'effect.pure', 'task.move'],
    ['run.finish'],
  ])
})
