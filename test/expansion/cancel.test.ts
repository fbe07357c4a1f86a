import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemIds, verifyAudit } from '../../ledger/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { createScene, planOf, resume, type Scene, start } from '../runner/support.ts'
import { processes, recordOf, sh, statesOf } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

/** Each leaves a file when it begins, then runs until it is ended. */
const many = (maxConcurrency: number, more: JsonObject = {}): JsonObject => ({
  policy: processes,
  runtime: { maxConcurrency },
  actions: { hold: sh('mkdir -p out; : > "out/$$"; exec sleep 300', more) },
  tasks: [
    {
      id: 'each',
      uses: 'action:hold',
      foreach: { items: Array.from({ length: 64 }, (_, index) => index), maxItems: 64 },
    },
    { id: 'after', uses: 'action:hold', needs: ['each'] },
  ],
})

const begun = (): string[] => {
  const folder = path.join(scene.workspace, 'out')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** Resolves once the first batch runs; the file that a task leaves is the only sign that it has begun. */
async function untilBegun(count: number): Promise<void> {
  while (begun().length < count) await sleep(5)
}

describe('a cancel in the middle of 64 tasks, four at a time', () => {
  const cancels: [string, (run: string, controller: AbortController) => void][] = [
    ['by a signal', (_, controller) => controller.abort(new Error('SIGINT'))],
    [
      'through the ledger',
      run => {
        const person = { id: null, login: 'local:0' }
        const command = { id: systemIds.uuid(), type: 'run.cancel', person, reason: 'enough', via: 'cli' } as const
        scene.ledger.store.control({ run, commands: [command] }, 'local:0')
      },
    ],
  ]

  it.each(cancels)('%s starts none of those that wait', async (_, cancel) => {
    const run = systemIds.uuid()
    const controller = new AbortController()
    const timings = { renewEvery: 20, startWithin: 40_000, deliverFor: 1_000, deliverForCancelled: 1_000 }
    const running = start(scene, planOf(many(4)), { ports: { signal: controller.signal, timings }, run: { run } })
    await untilBegun(4)
    cancel(run, controller)
    const outcome = await running
    expect(outcome).toMatchObject({ state: 'uncertain', exitCode: 130 })
    expect(begun()).toHaveLength(4)
    const effects = scene.ledger.store.effects(run)
    expect(effects.filter(({ startedAt }) => startedAt !== null)).toHaveLength(4)
    expect(effects.every(({ state }) => state === 'uncertain')).toBe(true)
    const states = Object.values(statesOf(scene, outcome))
    expect(states.filter(state => state === 'uncertain')).toHaveLength(4)
    expect(states.filter(state => state === 'running' || state === 'succeeded')).toEqual([])
    expect(await verifyAudit(scene.ledger.store.exportLines())).toMatchObject({ ok: true })

    // Nobody has said yet what became of the four: the run does not go on by itself.
    expect(await resume(scene, run)).toMatchObject({ state: 'uncertain' })
    expect(begun()).toHaveLength(4)
  })

  it('between two batches: all that waits is cancelled, and the aggregate says what there was', async () => {
    const controller = new AbortController()
    const plan = planOf({ ...many(4), actions: { hold: sh('mkdir -p out; : > "out/$$"') } })
    const outcome = await start(scene, plan, {
      ports: {
        signal: controller.signal,
        report: event => {
          if (event.type === 'task.ended') controller.abort(new Error('SIGINT'))
        },
      },
    })
    expect(outcome).toMatchObject({ state: 'cancelled', exitCode: 130 })
    expect(begun()).toHaveLength(4)
    const states = Object.values(statesOf(scene, outcome))
    expect(states.filter(state => state === 'succeeded')).toHaveLength(4)
    expect(states.filter(state => state === 'cancelled')).toHaveLength(62)
    expect(recordOf(scene, outcome)['each']?.output['items']).toHaveLength(64)
    // Nothing was as much as requested for the others.
    expect(scene.ledger.store.effects(outcome.run)).toHaveLength(4)
  })
})
