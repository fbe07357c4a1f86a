import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { z } from 'zod'
import { chainHead } from './audit/read.ts'
import type { Context } from './context.ts'
import { LedgerError } from './port.ts'
import { createEmpty, schemaVersion } from './schema.ts'
import { Cells } from './sql/cells.ts'
import type { Row, Sql, SqlValue } from './sql/contract.ts'
import { dumpTables } from './tables.ts'

/**
 * A whole ledger as NDJSON: a header, every row of every table in key order, and a last line that counts them. Bytes stand
 * as `{"hex": ...}`.
 */
const headerSchema = z.strictObject({ format: z.literal('agentctl.ledger'), version: z.int(), ledger: z.string() })
const rowSchema = z.strictObject({
  table: z.enum(dumpTables),
  row: z.array(z.union([z.string(), z.number(), z.null(), z.strictObject({ hex: z.string() })])).max(100),
})
const trailerSchema = z.strictObject({ rows: z.int(), head: z.string() })

/** Lines without line ends, a page in memory at a time. */
export function* exportLedger(context: Context): Iterable<string> {
  const before = changes(context)
  yield JSON.stringify({ format: 'agentctl.ledger', version: schemaVersion, ledger: context.ledger })
  let rows = 0
  for (const table of dumpTables) {
    for (const row of tableRows(context.sql, table)) {
      rows += 1
      yield JSON.stringify({ table, row: row.map(asText) })
    }
  }
  if (changes(context) !== before) {
    throw new LedgerError('conflict', 'The ledger changed during its export; export again while nothing runs.')
  }
  yield JSON.stringify({ rows, head: chainHead(context, 'ledger') })
}

/** Fills a new database with an exported ledger, as one transaction. Throws invalid, newer, conflict. */
export function importLedger(sql: Sql, lines: Iterable<string>): void {
  sql.transaction(() => {
    let rows = 0
    let ended = false
    let started = false
    const columns = new Map<string, Columns>()
    for (const line of lines) {
      if (line.trim() === '') continue
      if (ended) throw invalid('it goes on behind its last line')
      const value = parse(line)
      if (!started) {
        begin(sql, value)
        started = true
        continue
      }
      const trailer = trailerSchema.safeParse(value)
      if (trailer.success) {
        if (trailer.data.rows !== rows) throw invalid(`it has ${rows} rows, its last line says ${trailer.data.rows}`)
        ended = true
        continue
      }
      const parsed = rowSchema.safeParse(value)
      if (!parsed.success) throw invalid(`line ${rows + 2} is no row of a ledger`)
      insert(sql, columns, parsed.data.table, parsed.data.row.map(asValue))
      rows += 1
    }
    if (!ended) throw invalid('its last line is missing')
  })
}

function begin(sql: Sql, value: unknown): void {
  const header = headerSchema.safeParse(value)
  if (!header.success) throw invalid('its first line is no header')
  const { version, ledger } = header.data
  if (version > schemaVersion) {
    throw new LedgerError(
      'newer',
      `The export has version ${version}; this agentctl knows up to ${schemaVersion}. Use a later one.`,
    )
  }
  createEmpty(sql, ledger)
}

interface Columns {
  all: string[]
  key: string[]
}

function columnsOf(sql: Sql, table: string): Columns {
  const columns = sql.all(`PRAGMA table_info(${table})`).map(row => {
    const [, name, , , , key] = row
    return { name: String(name), key: Number(key) }
  })
  const key = columns.filter(column => column.key > 0).sort((left, right) => left.key - right.key)
  return { all: columns.map(column => column.name), key: key.map(column => column.name) }
}

function* tableRows(sql: Sql, table: string): Iterable<Row> {
  const { all, key } = columnsOf(sql, table)
  // Parts of blobs are half a MiB each.
  const limit = table === 'blob_parts' ? 4 : 100
  const keyOf = (row: Row) => key.map(name => row[all.indexOf(name)] ?? null)
  const select = `SELECT ${all.join(', ')} FROM ${table}`
  const order = `ORDER BY ${key.join(', ')} LIMIT ${limit}`
  const next = `${select} WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')}) ${order}`
  let rows = sql.all(`${select} ${order}`)
  while (rows.length > 0) {
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    rows = sql.all(next, ...keyOf(last))
  }
}

function insert(sql: Sql, known: Map<string, Columns>, table: string, row: Row): void {
  const columns = known.get(table) ?? columnsOf(sql, table)
  known.set(table, columns)
  if (row.length !== columns.all.length) throw invalid(`a row of ${table} has ${row.length} cells`)
  sql.run(`INSERT INTO ${table} (${columns.all.join(', ')}) VALUES (${row.map(() => '?').join(', ')})`, ...row)
}

/** Every change of state appends an event, so their number tells whether anything changed. */
function changes(context: Context): number {
  const [row] = context.sql.all("SELECT max(seq) FROM events WHERE chain = 'ledger'")
  const ledger = row === undefined ? 0 : new Cells(row).int()
  let runs = 0
  for (const [run] of context.sql.all('SELECT run FROM runs')) {
    const [end] = context.sql.all('SELECT max(seq) FROM events WHERE chain = ?', `run/${run}`)
    runs += end === undefined ? 0 : new Cells(end).int()
  }
  return ledger + runs
}

function asText(value: SqlValue): unknown {
  return value instanceof Uint8Array ? { hex: bytesToHex(value) } : value
}

function asValue(value: string | number | null | { hex: string }): SqlValue {
  return typeof value === 'object' && value !== null ? hexToBytes(value.hex) : value
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function invalid(what: string): LedgerError {
  return new LedgerError('invalid', `The export cannot be imported: ${what}. Export the ledger again.`)
}
