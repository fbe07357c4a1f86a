import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbedded, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
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
  voteOnPause,
  write,
} from '../runner/support.ts'
import { recordOf, short, statesOf } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const gated = { writableRoots: ['out'], approval: 'mutations' }
const actions = { write, assign: { kind: 'builtin.assign' } }
const last = { id: 'last', uses: 'action:assign', needs: ['each'] }
const each = (more: JsonObject = {}): JsonObject => ({
  id: 'each',
  uses: 'action:write',
  foreach: { items: ['a', 'b', 'c'] },
  with: { path: 'out/${{ vars.item }}', content: 'x' },
  ...more,
})

/** A document whose first child is in place already, so that it succeeds while the others wait for people. */
async function paused(tasks: JsonObject[], more: JsonObject = {}): Promise<RunOutcome> {
  putFile(scene, 'out/a', 'x')
  const outcome = await start(scene, planOf({ policy: gated, actions, tasks, ...more }))
  expect(outcome.state, outcome.messages.join('\n')).toBe('paused')
  return outcome
}

/** Full ids of the waiting tasks by their short ones. */
function waiting(outcome: RunOutcome): { [id: string]: string } {
  return Object.fromEntries((outcome.pause?.items ?? []).map(({ task }) => [short(task), task]))
}

function itemsOf(outcome: RunOutcome, task = 'each'): unknown {
  const { output } = recordOf(scene, outcome)[task] ?? {}
  const items = (output?.['items'] ?? null) as JsonObject[] | null
  return items?.map(({ index, state, output: given, error }) => [
    index,
    state,
    given === null ? null : 'output',
    error === null ? null : (error as JsonObject)['code'],
  ])
}

/** The clock goes past the time to decide. */
async function expire(outcome: RunOutcome): Promise<void> {
  const later = new Date(Date.now() + 40 * 86_400_000)
  const ledger = openEmbedded({
    file: `${scene.directory}/ledger.db`,
    clock: { ...systemClock, now: () => later },
    ids: systemIds,
  })
  const pause = outcome.pause?.pause ?? ''
  ledger.store.control(
    { run: outcome.run, commands: [{ id: systemIds.uuid(), type: 'pause.expire', pause }] },
    'system',
  )
  await ledger.close()
}

async function audited(): Promise<void> {
  expect(await verifyAudit(scene.ledger.store.exportLines())).toMatchObject({ ok: true })
}

describe('an aggregate ends with the items that it has', () => {
  it('where a rejected child stops the run: the ledger ends it at once', async () => {
    const outcome = await paused([each(), last])
    vote(scene, outcome, 'reject', [waiting(outcome)['each--0001'] ?? ''])
    expect(scene.ledger.store.record(outcome.run)?.state).toBe('denied')
    expect(statesOf(scene, outcome)).toEqual({
      'each--0000': 'succeeded',
      'each--0001': 'denied',
      'each--0002': 'cancelled',
      each: 'denied',
      last: 'cancelled',
    })
    expect(itemsOf(outcome)).toEqual([
      [0, 'succeeded', 'output', null],
      [1, 'denied', null, 'rejected'],
      [2, 'cancelled', null, 'cancelled'],
    ])
    expect(recordOf(scene, outcome)['each']?.error).toMatchObject({ code: 'dependency' })
    expect(await resume(scene, outcome.run)).toMatchObject({ state: 'denied', exitCode: 3 })
    await audited()
  })

  it('where the others go on: once they are done, and what needs it is over before', async () => {
    const outcome = await paused([each({ failure: 'continue' }), last])
    const { 'each--0001': second = '', 'each--0002': third = '' } = waiting(outcome)
    vote(scene, outcome, 'reject', [second])
    expect(statesOf(scene, outcome)).toMatchObject({ each: 'pending', last: 'cancelled' })
    const [pause] = scene.ledger.store.openPauses()
    if (pause === undefined) throw new Error('no open pause')
    voteOnPause(scene, outcome.run, pause, 'approve', [third])
    freshWorkspace(scene)
    expect(await resume(scene, outcome.run)).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(getFile(scene, 'out/c')).toBe('x')
    expect(itemsOf(outcome)).toEqual([
      [0, 'succeeded', 'output', null],
      [1, 'denied', null, 'rejected'],
      [2, 'succeeded', 'output', null],
    ])
    await audited()
  })

  it('where all are rejected and nothing is left to run: at once, without another job', async () => {
    const outcome = await paused([each({ failure: 'continue' }), last])
    vote(scene, outcome, 'reject')
    expect(scene.ledger.store.record(outcome.run)?.state).toBe('denied')
    expect(statesOf(scene, outcome)).toMatchObject({ each: 'denied', last: 'cancelled' })
    expect(itemsOf(outcome)).toEqual([
      [0, 'succeeded', 'output', null],
      [1, 'denied', null, 'rejected'],
      [2, 'denied', null, 'rejected'],
    ])
    await audited()
  })

  it('where nobody decided in time', async () => {
    const outcome = await paused([each(), last])
    await expire(outcome)
    expect(statesOf(scene, outcome)).toMatchObject({ each: 'denied', last: 'cancelled' })
    expect(itemsOf(outcome)).toEqual([
      [0, 'succeeded', 'output', null],
      [1, 'denied', null, 'expired'],
      [2, 'denied', null, 'expired'],
    ])
  })

  it('where somebody cancels the paused run', async () => {
    const outcome = await paused([each(), last])
    const person = { id: null, login: 'local:0' }
    scene.ledger.store.control(
      {
        run: outcome.run,
        commands: [{ id: systemIds.uuid(), type: 'run.cancel', person, reason: 'no', via: 'cli' }],
      },
      'local:0',
    )
    expect(statesOf(scene, outcome)).toMatchObject({ each: 'cancelled', last: 'cancelled' })
    expect(itemsOf(outcome)).toEqual([
      [0, 'succeeded', 'output', null],
      [1, 'cancelled', null, 'cancelled'],
      [2, 'cancelled', null, 'cancelled'],
    ])
  })

  it.each<[string, JsonObject, JsonObject, number]>([
    [
      'a matrix',
      {
        ...each(),
        foreach: undefined as never,
        matrix: { axes: { n: ['a', 'b'] } },
        with: { path: 'out/${{ vars.matrix.n }}', content: 'x' },
      },
      {},
      2,
    ],
    [
      'a loop',
      {
        id: 'each',
        uses: 'action:write',
        loop: { maxIterations: 2, while: '${{ vars.loopIndex < 2 }}' },
        with: { path: 'out/${{ vars.loopIndex }}', content: 'x' },
      },
      {},
      2,
    ],
  ])('of %s', async (_, task, more, count) => {
    const outcome = await paused([JSON.parse(JSON.stringify(task)) as JsonObject, last], more)
    vote(scene, outcome, 'reject')
    expect(statesOf(scene, outcome)).toMatchObject({ each: 'denied', last: 'cancelled' })
    expect(itemsOf(outcome)).toHaveLength(count)
  })

  it('of a sub-workflow within a foreach: each level with what it has', async () => {
    const flow = {
      version: '1',
      inputSchema: true,
      outputSchema: true,
      tasks: [
        { id: 'put', uses: 'action:write', with: { path: 'out/${{ inputs.name }}', content: 'x' } },
        { id: 'then', uses: 'action:assign', needs: ['put'] },
      ],
    }
    const task = { id: 'each', uses: 'workflow:f', foreach: { items: ['a', 'b'] }, with: { name: '${{ vars.item }}' } }
    const outcome = await paused([task, last], { subworkflows: { f: flow } })
    vote(scene, outcome, 'reject')
    expect(statesOf(scene, outcome)).toMatchObject({
      'each--0000': 'succeeded',
      'each--0001': 'denied',
      each: 'denied',
      last: 'cancelled',
    })
    expect(itemsOf(outcome)).toEqual([
      [0, 'succeeded', 'output', null],
      [1, 'denied', null, 'dependency'],
    ])
  })
})
