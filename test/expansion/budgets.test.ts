import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import {
  createScene,
  freshWorkspace,
  planOf,
  putFile,
  resume,
  type Scene,
  start,
  vote,
  write,
} from '../runner/support.ts'
import { recordOf, sh, statesOf } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const policy = { writableRoots: ['out'], processAllowlist: ['sh'], approval: 'mutations' }
const free = { ...policy, approval: 'never' }
const gate = { id: 'gate', uses: 'action:write', with: { path: 'out/gate', content: 'x' } }
const safe = { policy: { ...policy, approval: 'mutations' } }

/** Runs to the pause before `gate`, approves, and goes on in a fresh workspace. */
async function overPause(spec: JsonObject, between: () => Promise<void> = async () => {}) {
  freshWorkspace(scene)
  const paused = await start(scene, planOf(spec))
  expect(paused.state, paused.messages.join('\n')).toBe('paused')
  await between()
  vote(scene, paused, 'approve')
  freshWorkspace(scene)
  return resume(scene, paused.run)
}

describe('maxTasks', () => {
  const spec = (maxTasks: number): JsonObject => ({
    ...safe,
    runtime: { budgets: { maxTasks } },
    actions: { write, assign: { kind: 'builtin.assign' } },
    tasks: [
      { id: 'each', uses: 'action:assign', foreach: { items: [1, 2] } },
      { ...gate, needs: ['each'] },
      { id: 'last', uses: 'action:assign', needs: ['gate'] },
    ],
  })

  it('counts what ran before a pause, and nothing that only collects', async () => {
    expect(await overPause(spec(4))).toMatchObject({ state: 'succeeded' })
    const over = await overPause(spec(3))
    expect(over).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(over.messages.join()).toContain('maxTasks (3)')
    expect(statesOf(scene, over)).toMatchObject({ gate: 'succeeded', last: 'failed' })
  })
})

describe('maxLoopIterations', () => {
  const loop = (id: string, needs: string[]): JsonObject => ({
    id,
    uses: 'action:assign',
    needs,
    loop: { maxIterations: 4, while: '${{ vars.loopIndex < 2 }}' },
  })
  const spec = (maxLoopIterations: number): JsonObject => ({
    ...safe,
    runtime: { budgets: { maxLoopIterations } },
    actions: { write, assign: { kind: 'builtin.assign' } },
    tasks: [loop('one', []), { ...gate, needs: ['one'] }, loop('two', ['gate'])],
  })

  it('counts the iterations that ran, over a pause', async () => {
    expect(await overPause(spec(4))).toMatchObject({ state: 'succeeded' })
    const over = await overPause(spec(3))
    expect(over.messages.join()).toContain('maxLoopIterations (3)')
    expect(statesOf(scene, over)).toMatchObject({ 'two--0000': 'succeeded', 'two--0001': 'failed', two: 'cancelled' })
  })

  it('counts the iterations of a sub-workflow, and lets an iteration that is skipped pass', async () => {
    const outcome = await start(
      scene,
      planOf({
        runtime: { budgets: { maxLoopIterations: 2 } },
        actions: { assign: { kind: 'builtin.assign' } },
        subworkflows: {
          f: { version: '1', inputSchema: true, outputSchema: true, tasks: [{ id: 't', uses: 'action:assign' }] },
        },
        tasks: [{ id: 'l', uses: 'workflow:f', loop: { maxIterations: 4, while: '${{ vars.loopIndex < 3 }}' } }],
      }),
    )
    expect(outcome.messages.join()).toContain('maxLoopIterations (2)')
    expect(statesOf(scene, outcome)).toMatchObject({ 'l--0001': 'succeeded', 'l--0002--_inputs': 'failed' })
  })
})

describe('maxProcessOutputBytes', () => {
  const print = (bytes: number) => sh(`head -c ${bytes} /dev/zero | tr '\\\\0' x`, { combinedOutputLimitBytes: 600 })
  const spec = (maxProcessOutputBytes: number): JsonObject => ({
    ...safe,
    runtime: { budgets: { maxProcessOutputBytes } },
    actions: { print: print(600), file: { ...print(600), args: ['print.sh'] } },
    tasks: [
      { id: 'one', uses: 'action:print' },
      // Its script may be changed by the one before, so it is asked about only after that.
      { id: 'two', uses: 'action:file', needs: ['one'] },
    ],
  })

  it('is what all processes of the run print together, over a pause', async () => {
    putFile(scene, 'print.sh', "head -c 600 /dev/zero | tr '\\0' x")
    const run = async (limit: number) => {
      const first = await start(scene, planOf(spec(limit)))
      vote(scene, first, 'approve')
      const second = await resume(scene, first.run)
      expect(statesOf(scene, second)).toEqual({ one: 'succeeded', two: 'waiting' })
      vote(scene, second, 'approve')
      return resume(scene, first.run)
    }
    expect(await run(1_200)).toMatchObject({ state: 'succeeded' })
    const over = await run(1_199)
    expect(over.state).toBe('failed')
    expect(recordOf(scene, over)['two']?.error?.message).toMatch(/599/)
  })

  it('is not handed out twice to one batch', async () => {
    const both = (limit: number) =>
      start(
        scene,
        planOf({
          policy: free,
          runtime: { maxConcurrency: 2, budgets: { maxProcessOutputBytes: limit } },
          actions: { print: print(600) },
          tasks: [{ id: 'each', uses: 'action:print', foreach: { items: [1, 2] } }],
        }),
      )
    expect(await both(1_200)).toMatchObject({ state: 'succeeded' })
    expect(statesOf(scene, await both(1_199))).toMatchObject({ 'each--0000': 'succeeded', 'each--0001': 'failed' })
  })
})

describe('maxArtifactBytes', () => {
  it('is what a batch leaves together, too', async () => {
    const leave = (name: string) =>
      sh(`mkdir -p out; head -c 600 /dev/zero > out/${name}`, { artifacts: [`out/${name}`] })
    const both = (limit: number) =>
      start(
        scene,
        planOf({
          policy: free,
          runtime: { maxConcurrency: 2, budgets: { maxArtifactBytes: limit } },
          actions: { a: leave('a'), b: leave('b') },
          tasks: [
            { id: 'a', uses: 'action:a' },
            { id: 'b', uses: 'action:b' },
          ],
        }),
      )
    expect(await both(1_200)).toMatchObject({ state: 'succeeded' })
    freshWorkspace(scene)
    const over = await both(1_199)
    expect(over.state).toBe('failed')
    expect(over.messages.join()).toContain('maxArtifactBytes (1199)')
    expect(Object.values(statesOf(scene, over)).sort()).toEqual(['failed', 'succeeded'])
  })
})

describe('maxWallTimeSeconds', () => {
  it('adds up over pauses what jobs worked, without what people took to decide', async () => {
    const slow = sh('sleep 0.6')
    const over = await overPause(
      {
        policy: { ...policy, approval: 'mutations' },
        runtime: { budgets: { maxWallTimeSeconds: 1 } },
        memory: { working: {} },
        actions: { write, slow, assign: { kind: 'builtin.assign' } },
        tasks: [
          { id: 'gate', uses: 'action:slow' },
          { id: 'two', uses: 'action:slow', needs: ['gate'] },
          { id: 'three', uses: 'action:assign', needs: ['two'] },
        ],
      },
      () => sleep(1_200),
    )
    expect(over).toMatchObject({ state: 'failed' })
    expect(over.messages.join()).toContain('maxWallTimeSeconds (1)')
    expect(statesOf(scene, over)).toEqual({ gate: 'succeeded', two: 'succeeded', three: 'failed' })
    const { activeMilliseconds = 0 } = scene.ledger.store.snapshot(over.run) ?? {}
    expect(activeMilliseconds).toBeGreaterThan(1_200)
    expect(activeMilliseconds).toBeLessThan(2_400)
  })
})
