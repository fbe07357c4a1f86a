import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LeaseCommand } from '../ledger/commands.ts'
import { LedgerStore, openNodeSql, systemClock, systemIds } from '../ledger/index.ts'
import type { Batch } from '../ledger/port.ts'
import { defaultApprovalSettings } from '../policy/approval/record.ts'
import { effectId } from '../policy/binding.ts'
import { sha256 } from '../policy/canonical.ts'
import { type BenchRow, median } from './bench.ts'

const taskCount = 1000
const tasksPerTurn = 25
/** Tasks before the counted ones: both sides run compiled then, as in any run of some length. */
const warmUp = 500
const pageReads = 400

export async function bench(): Promise<BenchRow[]> {
  const directory = mkdtempSync(join(process.env['TMPDIR'] ?? '/var/tmp', 'agentctl-bench-'))
  try {
    return [pureTasks(directory), auditPages(directory)]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Commits of 1,000 pure tasks against as many commits of one row, alternating in short turns on the same disk. */
function pureTasks(directory: string): BenchRow {
  const ledger = openNodeSql(join(directory, 'tasks.sqlite'))
  const store = new LedgerStore(ledger, { clock: systemClock, ids: systemIds })
  const run = createRun(store, taskCount + warmUp)
  const batches = Array.from({ length: taskCount + warmUp }, (_, index) => pureTask(run, index))
  const plain = openNodeSql(join(directory, 'bare.sqlite'))
  plain.run('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT')
  const insert = () => plain.run('INSERT INTO t (text) VALUES (?)', 'one row of some forty bytes, as a result')
  const times = { ours: [] as number[], bare: [] as number[] }
  for (let turn = 0; turn < taskCount + warmUp; turn += tasksPerTurn) {
    const turnOf = (one: (index: number) => void) => () => {
      for (let index = turn; index < turn + tasksPerTurn; index += 1) one(index)
    }
    const ours = milliseconds(turnOf(task => commit(store, batches[task])))
    const bare = milliseconds(turnOf(() => plain.transaction(insert)))
    if (turn < warmUp) continue
    times.ours.push(ours)
    times.bare.push(bare)
  }
  ledger.close()
  plain.close()
  const [ours, bare] = [median(times.ours), median(times.bare)]
  const each = (turn: number) => `${(turn / tasksPerTurn).toFixed(2)} ms`
  return {
    name: 'ledger-pure-tasks',
    what: '1,000 pure tasks, durable, on disk',
    against: '1,000 single-row FULL commits',
    goal: '<= 1.4x',
    ratio: ours / bare,
    detail: `${each(ours)} against ${each(bare)} a commit, medians of ${times.ours.length} turns of ${tasksPerTurn}`,
  }
}

/** A page of 100 events in a chain of a million against the same in one of ten thousand, at random places. */
function auditPages(directory: string): BenchRow {
  const small = chainOf(join(directory, 'small.sqlite'), 10_000)
  const large = chainOf(join(directory, 'large.sqlite'), 1_000_000)
  const times = { small: [] as number[], large: [] as number[] }
  for (let read = 0; read < pageReads; read += 1) {
    const place = ((read * 2_654_435_761) % 4_294_967_296) / 4_294_967_296
    times.small.push(readPage(small, place))
    times.large.push(readPage(large, place))
  }
  small.close()
  large.close()
  const [ours, bare] = [median(times.large), median(times.small)]
  return {
    name: 'ledger-audit-page',
    what: 'audit query, page of 100, 1 million events',
    against: 'the same at 10,000',
    goal: '<= 1.5x',
    ratio: ours / bare,
    detail: `${ours.toFixed(3)} ms against ${bare.toFixed(3)} ms, ${pageReads} reads at random places`,
  }
}

interface Chain {
  store: LedgerStore
  name: string
  length: number
  close(): void
}

/** A run's chain of some length. The rows are copied within SQLite: only reading is measured. */
function chainOf(file: string, length: number): Chain {
  const sql = openNodeSql(file)
  const store = new LedgerStore(sql, { clock: systemClock, ids: systemIds })
  const run = createRun(store, 1)
  const name = `run/${run}`
  sql.run(
    `WITH RECURSIVE n (seq) AS (SELECT 2 UNION ALL SELECT seq + 1 FROM n WHERE seq < ?)
     INSERT INTO events (chain, seq, at, actor, type, subject, data_digest, hash, salt, data) SELECT chain, n.seq, at, actor, 'task.moved', subject, data_digest, hash, salt,
       json_object('task', 'task-' || n.seq, 'from', 'pending', 'to', 'succeeded', 'attempt', 1, 'output', data_digest,
         'error', NULL, 'condition', NULL, 'memory', NULL)
     FROM n, (SELECT * FROM events WHERE chain = ? AND seq = 1)`,
    length,
    name,
  )
  return { store, name, length, close: () => sql.close() }
}

function readPage({ store, name, length }: Chain, place: number): number {
  const after = Math.floor(place * (length - 100))
  return milliseconds(() => {
    const { items } = store.events({ chain: name, after, limit: 100 })
    if (items.length !== 100) throw new Error('a page came out short')
  })
}

function createRun(store: LedgerStore, tasks: number): string {
  const run = systemIds.uuid()
  const holder = { kind: 'local', bootId: 'bench', pid: 1, startTime: '1' } as const
  const command: LeaseCommand = {
    id: systemIds.uuid(),
    type: 'run.create',
    workflowName: 'bench',
    document: 'bench.yaml',
    workflowDigest: sha256('workflow'),
    planDigest: sha256('plan'),
    floorDigest: null,
    plan: { inline: {} },
    commit: { sha: null, head: null },
    parent: null,
    tasks: Array.from({ length: tasks }, (_, index) => ({ id: `task-${index}`, needs: [], failure: 'stop' })),
    memory: {},
    settings: defaultApprovalSettings,
    resumeWith: 'rerun',
  }
  store.apply({ run, epoch: 1, commands: [command] }, 'local:0', holder)
  return run
}

function commit(store: LedgerStore, batch: Batch | undefined): void {
  if (batch === undefined) throw new Error('more turns than tasks')
  store.apply(batch, 'local:0')
}

/** The commit of one pure task as the runner sends it: its effect and its move. */
function pureTask(run: string, index: number): Batch {
  const task = `task-${index}`
  const place = { task, attempt: 1, ordinal: 0, operation: 'builtin.assign', inputDigest: sha256(task) }
  const output = { inline: { status: 'unchanged', changed: false, after: { value: index }, output: { value: index } } }
  const effect = effectId({ run, ...place })
  const rest = { attempt: 1, error: null, condition: null, memory: null }
  return {
    run,
    epoch: 1,
    commands: [
      { id: systemIds.uuid(), type: 'effect.pure', effect, to: 'succeeded', error: null, ...place },
      { id: systemIds.uuid(), type: 'task.move', task, to: 'succeeded', output, ...rest },
    ],
  }
}

function milliseconds(f: () => void): number {
  const start = performance.now()
  f()
  return performance.now() - start
}
