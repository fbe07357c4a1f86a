import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { systemIds, verifyAudit } from '../../ledger/index.ts'
import type { EffectRecord, Ledger } from '../../ledger/port.ts'
import type { Plan } from '../../policy/document/index.ts'
import { createScene, freshWorkspace, getFile, resume, type Scene, start, voteOnPause } from './support.ts'

/** Thrown in place of the runner's death: nothing reaches the ledger after it. */
export class Killed extends Error {}

/**
 * A ledger under which the process dies at a given call: before it reaches the ledger, or after it is durable and before
 * anybody hears of it.
 */
export function dyingLedger(ledger: Ledger, at: number, when: 'before' | 'after'): { ledger: Ledger; calls(): number } {
  let calls = 0
  const mortal =
    <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      calls += 1
      if (calls > at || (calls === at && when === 'before')) throw new Killed('dead')
      const result = await call(...given)
      if (calls === at) throw new Killed('dead')
      return result
    }
  const dying: Ledger = {
    apply: mortal(batch => ledger.apply(batch)),
    putBlob: mortal(bytes => ledger.putBlob(bytes)),
    snapshot: run => ledger.snapshot(run),
    getBlob: sha256 => ledger.getBlob(sha256),
    close: async () => {},
  }
  return { ledger: dying, calls: () => calls }
}

export interface Crash {
  plan(log: string): Plan
  at: number
  when: 'before' | 'after'
}

export interface Aftermath {
  scene: Scene
  /** Whether the run was long enough to die at that call. */
  died: boolean
  state: string
  /** How often each process task ran, by what it wrote outside every workspace. */
  ran: Map<string, number>
  /** Ends as uncertain on the way. */
  uncertain: number
  isVerified: boolean
}

/**
 * Runs a plan, dies at one ledger call, then resumes in a new workspace each time until the run ends: every pause is
 * approved, every uncertain effect reconciled by the truth. The caller disposes of the scene.
 */
export async function crash({ plan: planWith, at, when }: Crash): Promise<Aftermath> {
  const scene = createScene()
  const log = path.join(scene.directory, 'ran.log')
  const plan = planWith(log)
  const run = systemIds.uuid()
  const { store } = scene.ledger
  let { ledger } = dyingLedger(scene.ledger, at, when)
  let died = false
  let uncertain = 0
  const mortally = async (act: () => Promise<unknown>) => {
    try {
      await act()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      died = true
      ledger = scene.ledger
    }
  }
  await mortally(() => start(scene, plan, { ports: { ledger }, run: { run } }))
  if (store.record(run) === null) await start(scene, plan, { run: { run } })
  for (let turn = 0; turn < 40; turn += 1) {
    const state = store.record(run)?.state
    if (state !== 'running' && state !== 'paused' && state !== 'uncertain') break
    for (const pause of store.openPauses()) voteOnPause(scene, run, pause, 'approve')
    for (const effect of store.effects(run))
      if (state === 'uncertain' && effect.state === 'uncertain') {
        uncertain += 1
        reconcile(scene, effect, (countsOf(log).get(effect.task) ?? 0) > 0)
      }
    freshWorkspace(scene)
    await mortally(() => resume(scene, run, { ports: { ledger } }))
  }
  const audit = await verifyAudit(store.exportLines())
  const state = store.record(run)?.state ?? 'absent'
  return { scene, died, state, ran: countsOf(log), uncertain, isVerified: audit.ok }
}

/** A write's workspace is gone, so it did not happen; a process did where its line stands in the log. */
export function reconcile(scene: Scene, effect: EffectRecord, happened: boolean): void {
  const isProcess = effect.effectClass === 'process_execution'
  scene.ledger.store.control(
    {
      run: effect.run,
      commands: [
        {
          id: systemIds.uuid(),
          type: 'effect.reconcile',
          effect: effect.effect,
          status: isProcess && happened ? 'applied' : 'not-applied',
          reason: 'test',
          evidence: { inline: 'the log' },
          result:
            isProcess && happened
              ? { inline: { status: 'changed', changed: true, exitCode: 0, stdout: '', stderr: '' } }
              : null,
          person: { id: null, login: 'local:0' },
        },
      ],
    },
    'local:0',
  )
}

export function countsOf(log: string): Map<string, number> {
  const counts = new Map<string, number>()
  let text = ''
  try {
    text = readFileSync(log, 'utf8')
  } catch {
    return counts
  }
  for (const task of text.split('\n').filter(line => line !== '')) counts.set(task, (counts.get(task) ?? 0) + 1)
  return counts
}

/** Every process ran once, every file of the last workspace is there, the chain verifies. */
export function expectExactlyOnce({ scene, state, ran, isVerified }: Aftermath): void {
  expect(state, scene.events.map(event => JSON.stringify(event)).join('\n')).toBe('succeeded')
  expect(Object.fromEntries(ran)).toEqual({ 'tool-a': 1, 'tool-b': 1, 'tool-c': 1 })
  expect(['one', 'deep/two', 'three'].map(name => getFile(scene, `out/${name}`))).toEqual(['later', 'two', 'out/one'])
  expect(isVerified).toBe(true)
}
