import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createScene, freely, planOf, predict, type Scene, write } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene({ 'out/same': 'same', 'in.txt': 'content' })
})
afterEach(() => scene.dispose())

test('each task is predicted from facts and policy, and nothing changes', async () => {
  const before = readdirSync(scene.workspace, { recursive: true }).sort()
  const plan = planOf({
    inputs: { go: false },
    policy: { writableRoots: ['out'], approval: 'high_risk', processAllowlist: ['true'], toolsDeny: ['memory.read'] },
    actions: {
      write,
      assign: { kind: 'builtin.assign' },
      read: { kind: 'builtin.read' },
      recall: { kind: 'builtin.memory.read' },
      remember: { kind: 'builtin.memory.write' },
      tool: { kind: 'builtin.shell.exec', command: 'true' },
      absent: { kind: 'builtin.shell.exec', command: 'agentctl-absent' },
    },
    tasks: [
      { id: 'pure', uses: 'action:assign', with: { a: 1 } },
      {
        id: 'fresh',
        uses: 'action:write',
        needs: ['pure'],
        with: { path: 'out/new', content: 'n${{ tasks.pure.output.output.a }}' },
      },
      { id: 'same', uses: 'action:write', with: { path: 'out/same', content: 'same' } },
      { id: 'read', uses: 'action:read', with: { path: 'in.txt' } },
      { id: 'again', uses: 'action:write', needs: ['fresh'], with: { path: 'out/new', content: 'x' } },
      { id: 'outside', uses: 'action:write', with: { path: 'elsewhere', content: 'x' } },
      { id: 'skip', uses: 'action:assign', when: '${{ inputs.go }}', with: {} },
      { id: 'after-skip', uses: 'action:assign', needs: ['skip'], with: {} },
      { id: 'remember', uses: 'action:remember', with: { key: 'k', value: 1 } },
      { id: 'denied', uses: 'action:recall', needs: ['remember'], with: { key: 'k' } },
      { id: 'tool', uses: 'action:tool' },
      { id: 'depends', uses: 'action:assign', needs: ['tool'], with: { out: '${{ tasks.tool.output.stdout }}' } },
      { id: 'absent', uses: 'action:absent' },
    ],
  })
  const prediction = await predict(scene, plan)
  const outcomes = Object.fromEntries(prediction.tasks.map(({ task, outcome }) => [task, outcome]))
  expect(outcomes).toEqual({
    pure: 'run',
    fresh: 'run',
    same: 'unchanged',
    read: 'run',
    again: 'unknown',
    outside: 'denied',
    skip: 'skipped',
    'after-skip': 'skipped',
    remember: 'run',
    denied: 'denied',
    tool: 'ask',
    depends: 'unknown',
    absent: 'failed',
  })
  const known = Object.fromEntries(prediction.tasks.map(({ task, predictability }) => [task, predictability]))
  expect(known).toEqual({
    ...Object.fromEntries(plan.order.map(task => [task, 'full'])),
    ...{ again: 'none', tool: 'none', depends: 'none' },
  })
  expect(prediction).toMatchObject({ refused: true, asks: true })
  const fresh = prediction.tasks.find(({ task }) => task === 'fresh')
  expect(fresh?.expected).toMatchObject({ kind: 'write', path: 'out/new', diff: expect.stringContaining('+n1') })
  expect(readdirSync(scene.workspace, { recursive: true }).sort()).toEqual(before)
  expect(scene.ledger.store.runs().items).toEqual([])
})

test('the public preview document', async () => {
  const plan = planOf({
    policy: { ...freely, writableRoots: ['artifacts'] },
    actions: { report: write },
    tasks: [
      { id: 'report', uses: 'action:report', with: { path: 'artifacts/report.txt', content: 'deterministic preview' } },
    ],
  })
  expect(await predict(scene, plan)).toMatchObject({ refused: false, asks: false, tasks: [{ outcome: 'run' }] })
})
