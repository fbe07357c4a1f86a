import type { Json } from '../../policy/json.ts'
import { resolve } from '../blobs.ts'
import type { CommandOf } from '../commands.ts'
import type { Context } from '../context.ts'
import type { RunChange } from '../domain/change.ts'
import { refused } from '../domain/change.ts'
import type { Payload } from '../payload.ts'
import type { LongTermItem } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import { payloadDigest } from '../values.ts'
import { longTermBounds } from './bounds.ts'
import { searchText, wordsOf } from './text.ts'

export type LongTermWrite = NonNullable<CommandOf<'effect.finish'>['longTerm']>

const day = 86_400_000
const writers: ReadonlySet<string> = new Set(['builtin.long_term_memory.write', 'builtin.long_term_memory.promote'])

/**
 * Writes one value of the long-term memory, in the transaction that records its effect's success: the value and the
 * result are there together or not at all. Throws invalid for an effect that writes no long-term memory.
 */
export function keepLongTerm(change: RunChange, effect: string, operation: string, write: LongTermWrite): void {
  if (!writers.has(operation))
    throw refused('invalid', `Effect ${effect} is ${operation}, which writes no long-term memory; send it without.`)
  const { namespace, key, value, retentionDays } = write
  const { context, now, sql } = change
  if ('blob' in value && value.blob.bytes > longTermBounds.valueBytes)
    throw refused('invalid', `A value of the long-term memory has at most ${longTermBounds.valueBytes} bytes.`)
  const expiresAt = retentionDays === null ? null : new Date(Date.parse(now) + retentionDays * day).toISOString()
  dropBlobs(context, namespace, [key])
  const text = change.payloadCell(value, 'value of the long-term memory')
  if ('blob' in value)
    sql.run('INSERT INTO blob_refs (sha256, run) VALUES (?, ?)', value.blob.sha256, holderOf(namespace, key))
  sql.run(
    `INSERT INTO long_term (namespace, key, written_at, expires_at, run, effect, text, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (namespace, key) DO UPDATE SET written_at = excluded.written_at, expires_at = excluded.expires_at,
       run = excluded.run, effect = excluded.effect, text = excluded.text, value = excluded.value`,
    namespace,
    key,
    now,
    expiresAt,
    change.run,
    effect,
    searchText(key, resolve(context, value)),
    text,
  )
  change.append('long_term.written', `effect/${effect}`, { namespace, key, value: payloadDigest(value), expiresAt })
}

/** The value of a key, null where there is none or where it has expired. */
export function readLongTerm(context: Context, namespace: string, key: string): LongTermItem | null {
  const [row] = context.sql.all(
    'SELECT key, value FROM long_term WHERE namespace = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)',
    namespace,
    key,
    context.clock.now().toISOString(),
  )
  return row === undefined ? null : asItem(context, new Cells(row))
}

/**
 * Values whose key or text holds every word of the query, letters of either case alike, the latest written first.
 * A plain search in the text and no index: FTS5 finds whole words only and keeps tables of its own that an export would
 * have to carry, and LIKE takes patterns of at most 50 bytes in a Durable Object.
 */
export function searchLongTerm(context: Context, namespace: string, query: string, limit: number): LongTermItem[] {
  const words = wordsOf(query)
  if (words.length === 0) return []
  const rows = context.sql.all(
    `SELECT key, value FROM long_term WHERE namespace = ? AND (expires_at IS NULL OR expires_at > ?)
       ${words.map(() => 'AND instr(text, ?) > 0').join(' ')} ORDER BY written_at DESC, key LIMIT ?`,
    namespace,
    context.clock.now().toISOString(),
    ...words,
    Math.min(Math.max(limit, 1), longTermBounds.searchItems),
  )
  return rows.map(row => asItem(context, new Cells(row)))
}

/** Drops values whose time is over, in the caller's transaction; some at a time, since each may hold a blob. */
export function dropExpired(context: Context, now: string): void {
  const { sql } = context
  const rows = sql.all('SELECT namespace, key FROM long_term WHERE expires_at <= ? LIMIT 1000', now)
  for (const row of rows) {
    const cells = new Cells(row)
    const namespace = cells.text()
    const key = cells.text()
    dropBlobs(context, namespace, [key])
    sql.run('DELETE FROM long_term WHERE namespace = ? AND key = ?', namespace, key)
  }
}

function asItem(context: Context, cells: Cells): LongTermItem {
  const key = cells.text()
  const value: Json = resolve(context, cells.json<Payload>())
  return { key, value }
}

function dropBlobs({ sql }: Context, namespace: string, keys: readonly string[]): void {
  for (const key of keys) sql.run('DELETE FROM blob_refs WHERE run = ?', holderOf(namespace, key))
}

/** What keeps a value's blob beside the runs that refer to it; no run has such an id. */
function holderOf(namespace: string, key: string): string {
  return `long-term/${JSON.stringify([namespace, key])}`
}
