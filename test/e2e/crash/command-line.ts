import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'vitest'
import { openEmbedded, systemClock, systemIds, verifyAudit } from '../../../ledger/index.ts'
import type { EffectRecord, RunRecord } from '../../../ledger/port.ts'
import { documentOf } from '../stage.ts'
import { files, type Gate, processes, silentResult, tenTasks, witnessed } from './document.ts'
import { quiet } from './quiet.ts'
import { type Aim, aim, type Lifetime, learn, type Random } from './random.ts'
import { emptyTally, expectExactlyOnce, phaseOf, type Tally } from './tally.ts'

export interface Killing {
  /** The built command line. */
  cli: string
  random: Random
  life: Lifetime
  gate: Gate
  /** Processes of this run that die; later ones live. */
  kills: number
}

/**
 * One run of the ten tasks by the built command line, whose processes are killed; each resume is in a new workspace. It
 * ends with everything checked.
 */
export async function killCommandLine({ cli, random, life, gate, kills }: Killing): Promise<Tally> {
  // Outside every git checkout, whose HEAD is part of what a resume compares.
  const desk = mkdtempSync(path.join(tmpdir(), 'agentctl-crash-'))
  const witness = path.join(desk, 'witness')
  const db = path.join(desk, 'ledger.db')
  const tally = emptyTally()
  let workspace = ''
  let died = 0

  const newWorkspace = () => {
    workspace = mkdtempSync(path.join(desk, 'workspace '))
    writeFileSync(path.join(workspace, 'flow.yaml'), documentOf(tenTasks(witness, gate)))
  }
  const call = async (...argv: string[]) => {
    const before = await look(db)
    // Deciding is one short commit: it may die too, more seldom.
    const isMortal = died < kills && (isRunning(argv) || random() < 1 / 5)
    const ended = await start([cli, ...argv, '--db', db], workspace, isMortal ? aim(random, life) : null)
    await quiet(desk)
    if (ended.signal === null) {
      // Done, waiting for a person, or uncertain: a living process ends in no other way here.
      expect([0, 3, 4], ended.text).toContain(ended.exitCode)
      if (isRunning(argv)) learn(life, ended.life)
      return ended
    }
    died += 1
    const after = await look(db)
    const isOver = after.record !== null && !isOpen(after.record)
    tally[phaseOf(before.events, after.events, isOver || (!isRunning(argv) && before.events !== after.events))] += 1
    return ended
  }

  try {
    for (let turn = 0; ; turn += 1) {
      if (turn > 50) throw new Error(`no end after ${turn} processes`)
      const { record, effects, open } = await look(db)
      if (record !== null && !isOpen(record)) break
      newWorkspace()
      if (record === null) await call('run', 'flow.yaml')
      else if (record.state === 'uncertain') {
        for (const one of effects.filter(({ state }) => state === 'uncertain')) {
          tally.uncertain += 1
          await reconcile(one)
        }
        await call('resume', record.run)
      } else if (open.length > 0)
        for (const approval of open) await call('approvals', 'approve', approval, '--reason', 'looks right')
      else await call('resume', record.run)
    }
    // Once more by somebody who does not know that it is over: nothing happens twice.
    const { record } = await look(db)
    const again = await start([cli, 'resume', record?.run ?? '', '--db', db], workspace, null)
    expect([record?.state, again.exitCode], again.text).toEqual(['succeeded', 0])
    const lines = await exported(db, record?.run ?? '')
    expectExactlyOnce(lines, witnessed(witness), gate !== 'never')
    const found = Object.keys(files).map(name => [name, textOf(path.join(workspace, name))])
    expect(Object.fromEntries(found)).toEqual(files)
    rmSync(desk, { recursive: true, force: true })
    return tally
  } catch (error) {
    throw new Error(`${desk} is kept`, { cause: error })
  }

  /** By the truth: a process happened where its line stands, a write's workspace is gone. */
  async function reconcile({ effect, task }: EffectRecord): Promise<void> {
    const happened = processes.includes(task) && witnessed(witness).includes(task)
    writeFileSync(path.join(desk, 'evidence'), 'the witness')
    writeFileSync(path.join(desk, 'result.json'), JSON.stringify(silentResult))
    const said = ['--reason', 'seen', '--evidence-file', path.join(desk, 'evidence')]
    const result = happened ? ['--result-file', path.join(desk, 'result.json')] : []
    const status = happened ? 'applied' : 'not-applied'
    const argv = [cli, 'effects', 'reconcile', effect, '--status', status, ...said, ...result, '--db', db]
    const ended = await start(argv, workspace, null)
    expect(ended.exitCode, ended.text).toBe(0)
  }
}

const isRunning = ([command]: string[]) => command === 'run' || command === 'resume'

const isOpen = ({ state }: RunRecord) => state === 'running' || state === 'paused' || state === 'uncertain'

/** How the ledger stands, read between processes. A file that a death left half made must open too. */
async function look(
  db: string,
): Promise<{ record: RunRecord | null; effects: EffectRecord[]; open: string[]; events: number }> {
  if (!existsSync(db)) return { record: null, effects: [], open: [], events: 0 }
  const ledger = openEmbedded({ file: db, clock: systemClock, ids: systemIds })
  try {
    const { store } = ledger
    const record = store.runs({ limit: 10 }).items[0] ?? null
    const run = record?.run ?? ''
    const open = store.openPauses().flatMap(({ items }) => items.filter(({ resolution }) => resolution === null))
    const events = record === null ? 0 : [...store.exportLines(run)].length
    return { record, effects: store.effects(run), open: open.map(({ id }) => id), events }
  } finally {
    await ledger.close()
  }
}

async function exported(db: string, run: string) {
  const ledger = openEmbedded({ file: db, clock: systemClock, ids: systemIds })
  try {
    expect(await verifyAudit(ledger.store.exportLines(), ledger.store.head())).toMatchObject({ ok: true })
    return [...ledger.store.exportLines(run)]
      .map(line => JSON.parse(line))
      .filter(({ chain }) => chain === `run/${run}`)
  } finally {
    await ledger.close()
  }
}

/** Runs one process to its end or its death. */
async function start(argv: readonly string[], cwd: string, at: Aim | null) {
  const began = performance.now()
  const child = spawn(process.execPath, argv, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  let spoke: number | null = null
  let timer: NodeJS.Timeout | undefined
  const shoot = (after: number) => {
    timer = setTimeout(() => child.kill('SIGKILL'), after)
  }
  if (at?.from === 'start') shoot(at.milliseconds)
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => {
      if (spoke === null && at?.from === 'first word') shoot(at.milliseconds)
      spoke ??= performance.now()
      text += more
    })
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  const whole = performance.now() - began
  return { exitCode, signal, text, life: { whole, silent: (spoke ?? performance.now()) - began } }
}

function textOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}
