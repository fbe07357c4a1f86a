import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { RunOutcome } from '../../runner/index.ts'
import {
  createScene,
  freshWorkspace,
  getFile,
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
async function overPause(spec: JsonObject) {
  freshWorkspace(scene)
  const paused = await start(scene, planOf(spec))
  expect(paused.state, paused.messages.join('\n')).toBe('paused')
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
    expect(statesOf(scene, over)).toMatchObject({ 'two--0000': 'succeeded', 'two--0001': 'failed', two: 'failed' })
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
    expect(recordOf(scene, over)['two']?.error?.code).toBe('budget_exceeded')
  })

  const chain = (limit: number, first: string): JsonObject => ({
    policy: free,
    runtime: { budgets: { maxProcessOutputBytes: limit } },
    actions: { first: sh(first), mark: sh('touch marked') },
    tasks: [
      { id: 'one', uses: 'action:first', failure: 'continue', retry: { maxAttempts: 3 } },
      { id: 'two', uses: 'action:mark', needs: ['one'] },
    ],
  })

  it('used up, a process is not asked for, whether it would print or not; with a byte left it runs', async () => {
    const out = await start(scene, planOf(chain(4, 'printf four')))
    expect(statesOf(scene, out)).toEqual({ one: 'succeeded', two: 'failed' })
    expect(recordOf(scene, out)['two']?.error).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining('spec.runtime.budgets.maxProcessOutputBytes'),
    })
    expect(scene.ledger.store.effects(out.run).map(({ task }) => task)).toEqual(['one'])
    expect(getFile(scene, 'marked')).toBeNull()
    expect(await start(scene, planOf(chain(5, 'printf four')))).toMatchObject({ state: 'succeeded' })
    expect(getFile(scene, 'marked')).toBe('')
  })

  it('is why a process that goes beyond it fails, and no attempt follows', async () => {
    const attempts = (limit: number) =>
      start(scene, planOf(chain(limit, `echo x >> attempts; printf four; exit 1`))).then(outcome => {
        const seen = { count: getFile(scene, 'attempts')?.length, code: recordOf(scene, outcome)['one']?.error?.code }
        freshWorkspace(scene)
        return seen
      })
    expect(await attempts(13)).toEqual({ count: 6, code: 'non_zero_exit' })
    // The third attempt has three bytes left; with eight there is none.
    expect(await attempts(11)).toEqual({ count: 6, code: 'budget_exceeded' })
    expect(await attempts(8)).toEqual({ count: 4, code: 'budget_exceeded' })
    expect(await attempts(3)).toEqual({ count: 2, code: 'budget_exceeded' })
  })

  it("is not blamed where the action's own limit was the smaller", async () => {
    const outcome = await start(
      scene,
      planOf({
        policy: free,
        runtime: { budgets: { maxProcessOutputBytes: 500 } },
        actions: { print: { ...print(600), combinedOutputLimitBytes: 500 } },
        tasks: [{ id: 'one', uses: 'action:print' }],
      }),
    )
    expect(recordOf(scene, outcome)['one']?.error?.code).toBe('output_exceeded')
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
  it('is what writes leave, over a pause: the one beyond it is not written', async () => {
    const file = (id: string, bytes: number, needs: string[]) => ({
      ...{ id, needs, uses: 'action:write' },
      with: { path: `out/${id}`, content: 'x'.repeat(bytes) },
    })
    const spec = (limit: number): JsonObject => ({
      ...safe,
      runtime: { budgets: { maxArtifactBytes: limit } },
      actions: { write },
      tasks: [file('one', 600, []), file('two', 600, ['one'])],
    })
    expect(await overPause(spec(1_200))).toMatchObject({ state: 'succeeded' })
    const over = await overPause(spec(1_199))
    expect(over).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(recordOf(scene, over)['two']?.error?.code).toBe('artifact_limit')
    expect([getFile(scene, 'out/one')?.length, getFile(scene, 'out/two')]).toEqual([600, null])
  })

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
  const timed = (maxWallTimeSeconds: number, tasks: JsonObject[], actions: JsonObject): JsonObject => ({
    policy,
    runtime: { budgets: { maxWallTimeSeconds } },
    actions: { write, assign: { kind: 'builtin.assign' }, ...actions },
    tasks,
  })

  it('ends a process that runs on: what it had done is not known, nothing follows', async () => {
    const outcome = await start(
      scene,
      planOf({
        ...timed(
          1,
          [
            { id: 'long', uses: 'action:long' },
            { id: 'next', uses: 'action:assign', needs: ['long'] },
          ],
          {
            long: sh('touch begun; sleep 300; touch ended'),
          },
        ),
        policy: free,
      }),
    )
    expect(outcome).toMatchObject({ state: 'uncertain', exitCode: 4 })
    const { long } = recordOf(scene, outcome)
    expect(long).toMatchObject({ state: 'uncertain', error: { code: 'budget_exceeded' } })
    expect(long?.error?.message).toContain('maxWallTimeSeconds (1)')
    expect(statesOf(scene, outcome)['next']).not.toBe('succeeded')
    expect([getFile(scene, 'begun'), getFile(scene, 'ended')]).toEqual(['', null])
  })

  it('ends the wait before another attempt, which then does not begin', async () => {
    const outcome = await start(
      scene,
      planOf({
        ...timed(1, [{ id: 'again', uses: 'action:bad', retry: { maxAttempts: 2, backoffMs: 60_000 } }], {
          bad: sh('echo x >> begun; exit 1'),
        }),
        policy: free,
      }),
    )
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(recordOf(scene, outcome)['again']?.error?.code).toBe('budget_exceeded')
    expect(getFile(scene, 'begun')).toBe('x\n')
  })

  it('counts what an attempt before a pause worked, without what people took to decide', async () => {
    const paused = await start(
      scene,
      planOf(
        timed(
          2,
          [
            { id: 'first', uses: 'action:first' },
            { ...gate, needs: ['first'] },
            { id: 'long', uses: 'action:long', needs: ['gate'] },
          ],
          { first: { ...sh('sleep 1') }, long: sh('sleep 300') },
        ),
      ),
    )
    const decide = async (outcome: RunOutcome): Promise<RunOutcome> => {
      vote(scene, outcome, 'approve')
      return resume(scene, outcome.run)
    }
    const began = performance.now()
    let outcome = paused
    while (outcome.state === 'paused') outcome = await decide(outcome)
    expect(outcome.state).toBe('uncertain')
    expect(recordOf(scene, outcome)['long']?.error?.code).toBe('budget_exceeded')
    // It had one second less than the budget: the first process had worked that off before people were asked.
    const { activeMilliseconds = 0 } = scene.ledger.store.snapshot(outcome.run) ?? {}
    expect(activeMilliseconds).toBeGreaterThanOrEqual(1_900)
    expect(performance.now() - began).toBeLessThan(60_000)
  })
})
