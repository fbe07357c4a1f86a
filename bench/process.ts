import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openEmbedded, systemClock, systemIds } from '../ledger/index.ts'
import { defaultApprovalSettings } from '../policy/approval/record.ts'
import { compile, type Plan, parseDocument } from '../policy/document/index.ts'
import { startRun } from '../runner/index.ts'
import { type BenchRow, pairs } from './bench.ts'

/** Rounds of each measure; both sides alternate, so that a busy machine slows both. */
const rounds = 20
/** What a run costs by itself, its opening and its end, is shared among them. */
const sequentialTasks = 100
const parallelTasks = 64
const pureTasks = 1_000

interface Bench {
  directory: string
  workspace: string
}

/** 08, Speed: the rows whose subject is the runner on this host. */
export async function bench(): Promise<BenchRow[]> {
  const base = path.join(import.meta.dirname, '../node_modules/.cache')
  mkdirSync(base, { recursive: true })
  const directory = mkdtempSync(path.join(base, 'agentctl-bench-'))
  const here = { directory, workspace: path.join(directory, 'workspace') }
  mkdirSync(here.workspace)
  try {
    return [await hostProcess(here), await parallel(here), await pure(here)]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function hostProcess(here: Bench): Promise<BenchRow> {
  const plan = processPlan(sequentialTasks, '/bin/true', [], 1)
  const measured = await pairs(
    rounds,
    () => run(here, plan),
    () => bareProcesses(here, sequentialTasks),
  )
  const what = 'host process, spawn to result, ledger included'
  return row(what, 'bare child_process.spawn plus two single-row FULL commits', '<= 1.25x', measured, sequentialTasks)
}

async function parallel(here: Bench): Promise<BenchRow> {
  const plan = processPlan(parallelTasks, '/bin/sleep', ['0.1'], parallelTasks)
  const measured = await pairs(
    rounds,
    () => run(here, plan),
    () => Promise.all(Array.from({ length: parallelTasks }, () => bareSpawn('/bin/sleep', ['0.1']))),
  )
  const what = '64 parallel 100 ms process tasks, maxConcurrency 64'
  return row(what, 'the same 64 by bare spawn', '<= 1.2x', measured, 1)
}

async function pure(here: Bench): Promise<BenchRow> {
  const tasks = Array.from({ length: pureTasks }, (_, index) => ({
    id: `t${index}`,
    uses: 'action:assign',
    with: { index },
  }))
  const plan = planOf({ actions: { assign: { kind: 'builtin.assign' } }, tasks })
  const measured = await pairs(
    rounds,
    () => run(here, plan),
    () => bareCommits(here, pureTasks),
  )
  const what = '1,000 pure tasks of a run, durable, on disk'
  return row(what, '1,000 single-row FULL commits', '<= 1.4x', measured, 1)
}

function row(
  what: string,
  against: string,
  goal: string,
  { subject, peer, ratio }: Awaited<ReturnType<typeof pairs>>,
  each: number,
): BenchRow {
  const detail = `${(subject / each).toFixed(2)} ms against ${(peer / each).toFixed(2)} ms, medians of ${rounds} pairs`
  return { name: 'process', what, against, goal, ratio, detail }
}

function processPlan(count: number, command: string, args: string[], maxConcurrency: number): Plan {
  return planOf({
    runtime: { maxConcurrency },
    policy: { approval: 'never', processAllowlist: [path.basename(command)] },
    actions: { tool: { kind: 'builtin.shell.exec', command, args } },
    tasks: Array.from({ length: count }, (_, index) => ({ id: `t${index}`, uses: 'action:tool' })),
  })
}

function planOf(spec: object): Plan {
  const text = JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name: 'bench' }, spec })
  const { document } = parseDocument({ text, file: 'bench.yaml' })
  const plan = document === null ? null : compile({ document, inputs: {}, files: {}, floor: null }).plan
  if (plan === null) throw new Error('the bench document does not compile')
  return plan
}

/** One run on a ledger file of its own; opening the file is not part of an effect, but is counted. */
async function run({ directory, workspace }: Bench, plan: Plan): Promise<void> {
  const ledger = openEmbedded({
    file: path.join(directory, `ledger-${plan.order.length}.db`),
    clock: systemClock,
    ids: systemIds,
  })
  try {
    const outcome = await startRun(
      {
        ledger,
        clock: systemClock,
        ids: systemIds,
        workspace,
        environment: {},
        protectedPaths: [],
        temporaryDirectories: [],
        searchPath: [],
        signal: new AbortController().signal,
        report() {},
      },
      {
        run: systemIds.uuid(),
        epoch: 1,
        plan,
        document: 'bench.yaml',
        commit: { sha: null, head: null },
        settings: defaultApprovalSettings,
        resumeWith: 'rerun',
        parent: null,
      },
    )
    if (outcome.state !== 'succeeded') throw new Error(outcome.messages.join('\n'))
  } finally {
    await ledger.close()
  }
}

async function bareProcesses(here: Bench, count: number): Promise<void> {
  const insert = openBare(here)
  for (let index = 0; index < count; index += 1) {
    insert.one(index)
    await bareSpawn('/bin/true', [])
    insert.one(index)
  }
  insert.close()
}

function bareCommits(here: Bench, count: number): void {
  const insert = openBare(here)
  for (let index = 0; index < count; index += 1) insert.one(index)
  insert.close()
}

function openBare({ directory }: Bench): { one(index: number): void; close(): void } {
  const database = new DatabaseSync(path.join(directory, 'bare.db'))
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS rows (value TEXT) STRICT',
  )
  const statement = database.prepare('INSERT INTO rows VALUES (?)')
  return { one: index => void statement.run(`row ${index}`), close: () => database.close() }
}

async function bareSpawn(command: string, args: string[]): Promise<void> {
  const child: ChildProcess = spawn(command, args, { env: {}, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout?.resume()
  child.stderr?.resume()
  await once(child, 'close')
}
