import type { Context } from './context.ts'
import { Cells } from './sql/cells.ts'
import type { Row } from './sql/contract.ts'
import type { Delivery, InboxRow } from './types.ts'

/** Keeps deliveries, each once by its id and once by its comment, all in one transaction; answers in their order. */
export function add(context: Context, deliveries: readonly Delivery[]): ('new' | 'duplicate')[] {
  return context.sql.transaction(() => deliveries.map(delivery => addOne(context, delivery)))
}

function addOne({ sql }: Context, delivery: Delivery): 'new' | 'duplicate' {
  const added = sql.all(
    `INSERT INTO inbox (delivery, event, action, comment, state, attempts, received_at, due_at, outcome, payload)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1`,
    delivery.delivery,
    delivery.event,
    delivery.action,
    delivery.comment,
    delivery.outcome === undefined ? 'due' : 'done',
    delivery.receivedAt,
    delivery.receivedAt,
    delivery.outcome ?? null,
    JSON.stringify(delivery.payload),
  )
  if (added.length === 1) return 'new'
  // Whoever sends again wants it done: a delivery that waits for its retry need not wait longer.
  sql.run(
    "UPDATE inbox SET due_at = ? WHERE state = 'due' AND attempts > 0 AND (delivery = ? OR (comment = ? AND action = ?))",
    delivery.receivedAt,
    delivery.delivery,
    delivery.comment,
    delivery.action,
  )
  return 'duplicate'
}

/** Deliveries whose time has come, oldest first. */
export function due(context: Context, limit: number): InboxRow[] {
  const rows = context.sql.all(
    `SELECT delivery, event, action, comment, received_at, attempts, last_error, payload FROM inbox
     WHERE state = 'due' AND due_at <= ? ORDER BY due_at, n LIMIT ?`,
    context.clock.now().toISOString(),
    limit,
  )
  return rows.map(asInboxRow)
}

export function done(context: Context, delivery: string, outcome: string): void {
  context.sql.run("UPDATE inbox SET state = 'done', outcome = ? WHERE delivery = ?", outcome, delivery)
}

export function fail(context: Context, delivery: string, error: string, retryAt: string): void {
  context.sql.run(
    "UPDATE inbox SET attempts = attempts + 1, last_error = ?, due_at = ? WHERE delivery = ? AND state = 'due'",
    error.slice(0, 2000),
    retryAt,
    delivery,
  )
}

function asInboxRow(row: Row): InboxRow {
  const cells = new Cells(row)
  return {
    delivery: cells.text(),
    event: cells.text(),
    action: cells.text(),
    comment: cells.intOrNull(),
    receivedAt: cells.text(),
    attempts: cells.int(),
    lastError: cells.textOrNull(),
    payload: cells.json(),
  }
}
