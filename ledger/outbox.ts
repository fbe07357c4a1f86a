import type { JsonObject } from '../policy/json.ts'
import type { Context } from './context.ts'
import { LedgerError } from './port.ts'
import { Cells } from './sql/cells.ts'
import type { Row } from './sql/contract.ts'
import type { NewOutboxRow, OutboxRow } from './types.ts'

const columns = 'id, run, kind, state, attempts, due_at, last_error, payload'

/** Adds a row; false where its id exists. May stand in the caller's transaction. */
export function add(context: Context, row: NewOutboxRow): boolean {
  const added = context.sql.all(
    `INSERT INTO outbox (id, run, kind, state, attempts, due_at, payload) VALUES (?, ?, ?, 'due', 0, ?, ?)
     ON CONFLICT DO NOTHING RETURNING 1`,
    row.id,
    row.run,
    row.kind,
    row.dueAt ?? context.clock.now().toISOString(),
    JSON.stringify(row.payload),
  )
  return added.length === 1
}

/** Rows whose time has come: signs to people who just wrote first, then oldest first. */
export function due(context: Context, limit: number): OutboxRow[] {
  const rows = context.sql.all(
    `SELECT ${columns} FROM outbox WHERE state = 'due' AND due_at <= ? ORDER BY kind <> 'reaction', due_at, n LIMIT ?`,
    context.clock.now().toISOString(),
    limit,
  )
  return rows.map(asOutboxRow)
}

export function byId(context: Context, id: string): OutboxRow | null {
  const [row] = context.sql.all(`SELECT ${columns} FROM outbox WHERE id = ?`, id)
  return row === undefined ? null : asOutboxRow(row)
}

export function list(
  context: Context,
  query: { run?: string; state?: OutboxRow['state']; limit?: number },
): OutboxRow[] {
  const run = query.run ?? null
  const state = query.state ?? null
  const rows = context.sql.all(
    `SELECT ${columns} FROM outbox WHERE (? IS NULL OR run = ?) AND (? IS NULL OR state = ?) ORDER BY n DESC LIMIT ?`,
    run,
    run,
    state,
    state,
    query.limit ?? 100,
  )
  return rows.map(asOutboxRow)
}

export function finish(context: Context, id: string, data: JsonObject = {}): void {
  context.sql.run(
    "UPDATE outbox SET state = 'done', payload = json_patch(payload, ?) WHERE id = ?",
    JSON.stringify(data),
    id,
  )
}

/** The rows of one kind that a run waits for are done by what just happened. */
export function finishOfRun(context: Context, run: string, kind: string): void {
  context.sql.run("UPDATE outbox SET state = 'done' WHERE run = ? AND kind = ? AND state <> 'done'", run, kind)
}

export function fail(context: Context, id: string, error: string, retryAt: string | null, data: JsonObject = {}): void {
  context.sql.run(
    `UPDATE outbox SET attempts = attempts + 1, last_error = ?, state = ?, due_at = coalesce(?, due_at),
     payload = json_patch(payload, ?) WHERE id = ? AND state = 'due'`,
    error.slice(0, 2000),
    retryAt === null ? 'dead' : 'due',
    retryAt,
    JSON.stringify(data),
    id,
  )
}

export function defer(context: Context, id: string, dueAt: string, data: JsonObject = {}): void {
  context.sql.run(
    "UPDATE outbox SET due_at = ?, payload = json_patch(payload, ?) WHERE id = ? AND state = 'due'",
    dueAt,
    JSON.stringify(data),
    id,
  )
}

export function retry(context: Context, id: string): void {
  const found = context.sql.all(
    "UPDATE outbox SET state = 'due', attempts = 0, due_at = ? WHERE id = ? RETURNING 1",
    context.clock.now().toISOString(),
    id,
  )
  if (found.length === 0) throw new LedgerError('not_found', `There is no outbox row ${id}.`)
}

/** Least due time of inbox, outbox and open pauses; null where nothing is due ever. */
export function nextDue(context: Context): string | null {
  const [row] = context.sql.all(
    `SELECT min(due) FROM (
       SELECT min(due_at) AS due FROM inbox WHERE state = 'due'
       UNION ALL SELECT min(due_at) FROM outbox WHERE state = 'due'
       UNION ALL SELECT min(p.expires_at) FROM items i JOIN pauses p ON p.pause = i.pause WHERE i.resolution IS NULL)`,
  )
  return row === undefined ? null : new Cells(row).textOrNull()
}

function asOutboxRow(row: Row): OutboxRow {
  const cells = new Cells(row)
  return {
    id: cells.text(),
    run: cells.textOrNull(),
    kind: cells.text(),
    state: cells.text() as OutboxRow['state'],
    attempts: cells.int(),
    dueAt: cells.text(),
    lastError: cells.textOrNull(),
    payload: cells.json(),
  }
}
