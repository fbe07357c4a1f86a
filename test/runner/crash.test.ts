import { afterEach, expect, test } from 'vitest'
import { planDigest } from '../../policy/document/index.ts'
import { crash, dyingLedger, expectExactlyOnce } from './crash.ts'
import { createScene, planOf, type Scene, start, write } from './support.ts'
import { tenTasks } from './ten-tasks.ts'

const scenes: Scene[] = []
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})

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
    expect(deaths).toBeGreaterThan(6)
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
    expect.arrayContaining(['effect.finish', 'effect.pure']),
    ...(commits.length === 4 ? [['run.finish']] : []),
  ])
  expect(commits.flat().at(-1)).toBe('run.finish')
})
