import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { JsonObject } from '../../../policy/json.ts'
import type { RunningProcess } from '../../github/index.ts'
import type { Play, Stage } from '../stage.ts'
import { files, type Gate, processes, silentResult, tenTasks, witnessed } from './document.ts'
import { quiet } from './quiet.ts'
import { aim, type Lifetime, learn, type Random } from './random.ts'
import { emptyTally, expectExactlyOnce, phaseOf, type Tally } from './tally.ts'

export interface Killing {
  stage: Stage
  random: Random
  life: Lifetime
  gate: Gate
  /** Processes of this run that die; later ones live. */
  kills: number
}

/**
 * One run of the ten tasks by the built Action under a control plane, whose processes are killed; each attempt is a re-run
 * in a new workspace. It ends with everything checked.
 */
export async function killAction({ stage, random, life, gate, kills }: Killing): Promise<Tally> {
  const directory = mkdtempSync(join(tmpdir(), 'agentctl-crash-'))
  const witness = join(directory, 'witness')
  const tally = emptyTally()
  let died = 0
  let mayDie = true
  let seen = 0
  let current: { began: number; spoke: number | null } | null = null

  const onProcess = (process: RunningProcess) => {
    // A post step of its own dies now and then too: whatever it had come to, the next attempt goes on from there.
    if (process.phase === 'post') {
      const isUnlucky = mayDie && died < kills && random() < 0.3
      if (isUnlucky) setTimeout(() => process.kill('SIGKILL'), random() * 600).unref()
      return
    }
    const mine = { began: performance.now(), spoke: null as number | null }
    current = mine
    const at = mayDie && died < kills ? aim(random, life) : null
    const shoot = () => setTimeout(() => process.kill('SIGKILL'), at?.milliseconds).unref()
    if (at?.from === 'start') shoot()
    process.onOutput(() => {
      if (mine.spoke === null && at?.from === 'first word') shoot()
      mine.spoke ??= performance.now()
    })
  }
  const play = await stage.begin({ spec: tenTasks(witness, gate), onProcess })
  const again = async () => {
    await play.handle.completed()
    await play.again()
  }

  for (let attempts = 0; ; ) {
    if (attempts === 40) throw new Error(`no end after ${attempts} attempts:\n${play.step().log}`)
    await play.handle.completed()
    await quiet(directory)
    const { state, run, events } = await look(play)
    if (play.handle.run.attempts.length > attempts) {
      attempts = play.handle.run.attempts.length
      const { signal } = play.step()
      if (signal === 'SIGKILL') {
        died += 1
        tally[phaseOf(seen, events.length, isOver(state))] += 1
      } else if (current !== null) {
        const { began, spoke }: { began: number; spoke: number | null } = current
        const now = performance.now()
        if (state === 'succeeded') learn(life, { whole: now - began, silent: (spoke ?? now) - began })
      }
      seen = events.length
    }
    if (isOver(state)) break
    if (state === 'uncertain') {
      const effects = (await play.ask(`/runs/${run}/effects`)).body['items'] as JsonObject[]
      for (const effect of effects.filter(one => one['state'] === 'uncertain')) {
        tally.uncertain += 1
        await reconcile(play, witness, effect)
      }
    }
    const issue = play.issues().find(one => one.state === 'open')
    const isAsked = issue !== undefined && play.step().signal === null
    if (state === 'paused' && isAsked) await play.decide('/approve all looks right', issue)
    else await again()
  }
  // Once more: the recorded outputs, and nothing happens twice.
  const { run, state } = await look(play)
  const workspaceOfTheEnd = Object.keys(files).map(name => [name, play.file(name)])
  const lastSignal = play.step().signal
  mayDie = false
  await again()
  expect([state, play.step().exitCode], play.step().log).toEqual(['succeeded', 0])
  expectExactlyOnce(await play.events(run), witnessed(witness), gate !== 'never')
  // An attempt that died after the run's end had its files too: they were written before the end was recorded.
  expect(Object.fromEntries(workspaceOfTheEnd), `ended by ${lastSignal}`).toEqual(files)
  rmSync(directory, { recursive: true })
  return tally
}

const isOver = (state: string | null) => state !== null && !['running', 'paused', 'uncertain'].includes(state)

async function look(play: Play) {
  const { body } = await play.ask('/runs')
  const [record] = body['items'] as { run: string; state: string }[]
  const events = record === undefined ? [] : await play.events(record.run)
  return { run: record?.run ?? '', state: record?.state ?? null, events }
}

/** By the truth: a process happened where its line stands, a write's workspace is gone. */
async function reconcile(play: Play, witness: string, { effect, task }: JsonObject): Promise<void> {
  const happened = processes.includes(String(task)) && witnessed(witness).includes(String(task))
  const word = happened ? { status: 'applied', result: silentResult } : { status: 'not-applied' }
  const body = { ...word, reason: 'seen', evidence: { read: 'the witness' } }
  const answer = await play.ask(`/effects/${effect}/reconciliation`, { login: 'bob', body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}
