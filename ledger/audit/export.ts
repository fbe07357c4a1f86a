import type { Context } from '../context.ts'
import { LedgerError } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import { readEvents } from './read.ts'

const pageSize = 200

/** The audit trail as NDJSON lines without line ends, a page in memory at a time. */
export function* exportLines(context: Context, run?: string): Iterable<string> {
  if (run === undefined) yield* everything(context)
  else yield* oneRun(context, run)
}

function* everything(context: Context): Iterable<string> {
  // A run created after this moment has no checkpoint in the exported part of the ledger's chain: it stays out.
  const end = lastSeq(context, 'ledger')
  yield* chainLines(context, 'ledger', end)
  let after = 0
  for (;;) {
    const rows = context.sql.all(
      'SELECT n, run FROM runs WHERE n > ? AND created_seq <= ? ORDER BY n LIMIT ?',
      after,
      end,
      pageSize,
    )
    if (rows.length === 0) return
    for (const row of rows) {
      const cells = new Cells(row)
      after = cells.int()
      const chain = `run/${cells.text()}`
      yield* chainLines(context, chain, lastSeq(context, chain))
    }
  }
}

function* oneRun(context: Context, run: string): Iterable<string> {
  const chain = `run/${run}`
  const [created] = context.sql.all('SELECT created_seq FROM runs WHERE run = ?', run)
  if (created === undefined) throw new LedgerError('not_found', `There is no run ${run} in this ledger.`)
  const checkpoints = lastSeq(context, 'ledger')
  let after = new Cells(created).int() - 1
  for (;;) {
    const rows = context.sql.all(
      "SELECT seq FROM events WHERE chain = 'ledger' AND subject = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
      chain,
      after,
      checkpoints,
      pageSize,
    )
    if (rows.length === 0) break
    for (const row of rows) {
      const seq = new Cells(row).int()
      const [line] = readEvents(context, { chain: 'ledger', after: seq - 1, limit: 1 }).items
      if (line !== undefined) yield JSON.stringify(line)
      after = seq
    }
  }
  yield* chainLines(context, chain, lastSeq(context, chain))
}

function* chainLines(context: Context, chain: string, end: number): Iterable<string> {
  let after = 0
  while (after < end) {
    const page = readEvents(context, { chain, after, limit: Math.min(pageSize, end - after) })
    for (const line of page.items) yield JSON.stringify(line)
    const last = page.items.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}

function lastSeq(context: Context, chain: string): number {
  const [row] = context.sql.all('SELECT seq FROM events WHERE chain = ? ORDER BY seq DESC LIMIT 1', chain)
  return row === undefined ? 0 : new Cells(row).int()
}
