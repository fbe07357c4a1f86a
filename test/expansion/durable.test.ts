import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemIds, verifyAudit } from '../../ledger/index.ts'
import type { EffectRecord } from '../../ledger/port.ts'
import { countsOf, dyingLedger, Killed, reconcile } from '../runner/crash.ts'
import {
  createScene,
  freshWorkspace,
  getFile,
  planOf,
  predict,
  resume,
  type Scene,
  start,
  vote,
  voteOnPause,
  write,
} from '../runner/support.ts'
import { everything, lines } from './everything.ts'
import { short, statesOf } from './support.ts'

const scenes: Scene[] = []
function scene(): Scene {
  const made = createScene()
  scenes.push(made)
  return made
}
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})

function pauseOf(here: Scene) {
  const [pause] = here.ledger.store.openPauses()
  if (pause === undefined) throw new Error('no open pause')
  return pause
}

/** A process happened where the log has more of its lines than confirmed effects account for. */
function happened(here: Scene, effect: EffectRecord, log: string): boolean {
  const name = String(effect.task.replace('flows--', 'flow--').split('--')[0]).replace('cells', 'cell')
  const same = here.ledger.store
    .effects(effect.run)
    .filter(
      one =>
        one.operation === effect.operation &&
        one.state === 'succeeded' &&
        processName(one.task) === processName(effect.task),
    )
  return (countsOf(log).get(name) ?? 0) > same.length
}

function processName(task: string): string {
  return task.split('--')[0] ?? ''
}

/** Runs everything, dies at one ledger call, and goes on in fresh workspaces until the run ends. */
async function dieAt(at: number, when: 'before' | 'after', maxConcurrency: number, approval: string): Promise<boolean> {
  const here = scene()
  const log = path.join(here.directory, 'ran.log')
  const { store } = here.ledger
  const run = systemIds.uuid()
  let { ledger } = dyingLedger(here.ledger, at, when)
  let died = false
  const mortally = async (act: () => Promise<unknown>) => {
    try {
      await act()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      died = true
      ledger = here.ledger
    }
  }
  const plan = everything(log, maxConcurrency, approval)
  await mortally(() => start(here, plan, { ports: { ledger }, run: { run } }))
  if (store.record(run) === null) await start(here, plan, { run: { run } })
  for (let turn = 0; turn < 60; turn += 1) {
    const state = store.record(run)?.state
    if (state !== 'running' && state !== 'paused' && state !== 'uncertain') break
    for (const pause of store.openPauses()) voteOnPause(here, run, pause, 'approve')
    for (const effect of store.effects(run))
      if (state === 'uncertain' && effect.state === 'uncertain') reconcile(here, effect, happened(here, effect, log))
    freshWorkspace(here)
    await mortally(() => resume(here, run, { ports: { ledger } }))
  }
  expect(store.record(run)?.state, `death ${when} call ${at}`).toBe('succeeded')
  expect(Object.fromEntries(countsOf(log)), `death ${when} call ${at}`).toEqual(lines)
  const files = ['a', 'b', 'c', 'p', 'q', 'right'].map(name => getFile(here, `out/${name}`))
  expect(files).toEqual(['n0', 'n1', 'n2', 'exit 0', 'exit 0', null])
  expect(store.snapshot(run)?.outputs).toMatchObject({
    files: [{ index: 0 }, { index: 1 }, { index: 2 }],
    loops: 3,
    route: ['flows'],
    flows: [{ output: { path: 'out/p' } }, { output: { path: 'out/q' } }],
    right: 'route',
  })
  expect((await verifyAudit(store.exportLines())).ok).toBe(true)
  here.dispose()
  scenes.pop()
  return died
}

describe('death at every ledger call, everything expanded', () => {
  it.each([
    ['before', 1, 'never'],
    ['after', 4, 'never'],
    ['after', 2, 'mutations'],
  ] as const)('%s it, %i at a time, approval %s: each effect ran once', async (when, maxConcurrency, approval) => {
    let deaths = 0
    for (let at = 1; await dieAt(at, when, maxConcurrency, approval); at += 1) deaths += 1
    expect(deaths).toBeGreaterThan(6)
  })
})

describe('a pause', () => {
  const gated = () =>
    planOf({
      policy: { writableRoots: ['out'], approval: 'mutations' },
      outputs: { items: '${{ tasks.each.output.items }}' },
      actions: { write, assign: { kind: 'builtin.assign' } },
      tasks: [
        {
          id: 'each',
          uses: 'action:write',
          foreach: { items: ['a', 'b'] },
          failure: 'continue',
          with: { path: 'out/${{ vars.item }}', content: 'x' },
        },
        { id: 'last', uses: 'action:assign', needs: ['each'] },
      ],
    })

  it('asks for every child by name, and the aggregate waits with them', async () => {
    const here = scene()
    const outcome = await start(here, gated())
    expect(outcome).toMatchObject({ state: 'paused', exitCode: 3 })
    expect(outcome.pause?.items.map(({ task, trace }) => [short(task), trace.endsWith('/1/0')])).toEqual([
      ['each--0000', true],
      ['each--0001', true],
    ])
    expect(statesOf(here, outcome)).toEqual({
      'each--0000': 'waiting',
      'each--0001': 'waiting',
      each: 'pending',
      last: 'pending',
    })
    vote(here, outcome, 'approve')
    freshWorkspace(here)
    const resumed = await resume(here, outcome.run)
    expect(resumed).toMatchObject({
      state: 'succeeded',
      outputs: { items: [{ state: 'succeeded' }, { state: 'succeeded' }] },
    })
    expect(getFile(here, 'out/b')).toBe('x')
  })

  it('with one child rejected: the others run, nothing follows the aggregate', async () => {
    const here = scene()
    const outcome = await start(here, gated())
    const [first = '', second = ''] = outcome.pause?.items.map(({ task }) => task) ?? []
    vote(here, outcome, 'reject', [first])
    voteOnPause(here, outcome.run, pauseOf(here), 'approve', [second])
    const resumed = await resume(here, outcome.run)
    expect(resumed).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(statesOf(here, outcome)).toEqual({
      'each--0000': 'denied',
      'each--0001': 'succeeded',
      each: 'denied',
      last: 'cancelled',
    })
    expect([getFile(here, 'out/a'), getFile(here, 'out/b')]).toEqual([null, 'x'])
  })
})

describe('--check', () => {
  it('predicts what expands as far as it is known, and changes nothing', async () => {
    const here = scene()
    const log = path.join(here.directory, 'ran.log')
    const { tasks } = await predict(here, everything(log, 1, 'never'))
    const outcomes = Object.fromEntries(tasks.map(({ task, outcome }) => [short(task), outcome]))
    expect(outcomes).toMatchObject({
      'files--0000': 'run',
      files: 'unknown',
      'loop--0000': 'run',
      'loop--0003': 'skipped',
      route: 'run',
      'flows--0000--_inputs': 'run',
      right: 'skipped',
    })
    expect(countsOf(log).size).toBe(0)
  })

  it('computes pure expansions in full', async () => {
    const here = scene()
    const plan = planOf({
      inputs: { way: 'left' },
      actions: { assign: { kind: 'builtin.assign' } },
      subworkflows: {
        f: {
          version: '1',
          inputSchema: true,
          outputSchema: true,
          outputs: { v: '${{ tasks.t.output.output.v }}' },
          tasks: [{ id: 't', uses: 'action:assign', with: { v: '${{ inputs.v }}' } }],
        },
      },
      tasks: [
        { id: 'each', uses: 'action:assign', foreach: { items: [1, 2] } },
        { id: 'l', uses: 'action:assign', loop: { maxIterations: 2, while: '${{ vars.loopIndex < 5 }}' } },
        {
          id: 'r',
          uses: 'router',
          route: { select: '${{ inputs.way }}', cases: [{ equals: 'left', tasks: ['s'] }], default: ['t'] },
        },
        { id: 's', uses: 'workflow:f', needs: ['r'], with: { v: '${{ tasks.r.output.matched }}' } },
        { id: 't', uses: 'action:assign', needs: ['r'] },
      ],
    })
    const { tasks, refused } = await predict(here, plan)
    const found = Object.fromEntries(tasks.map(one => [short(one.task), one]))
    expect(found['each']).toMatchObject({
      outcome: 'run',
      kind: 'foreach',
      output: { items: [{ index: 0 }, { index: 1 }] },
    })
    expect(found['l']).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('loop_exhausted') })
    expect(found['s']).toMatchObject({ outcome: 'run', output: { v: true } })
    expect(found['t']).toMatchObject({ outcome: 'skipped', reason: 'router r did not choose t' })
    expect(refused).toBe(true)
  })
})
