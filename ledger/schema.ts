import { ChainEnd } from './audit/append.ts'
import type { Context } from './context.ts'
import { LedgerError } from './port.ts'
import { Cells } from './sql/cells.ts'
import type { Sql } from './sql/contract.ts'
import type { StoreOptions } from './store.ts'
import { migrations } from './tables.ts'

/** Version of the tables that this code writes. */
export const schemaVersion = migrations.length

/** Brings a database to this version, in one transaction, and answers what the parts of the ledger work with. */
export function openLedger(sql: Sql, options: StoreOptions): Context {
  const found = readMeta(sql)
  refuseOthers(sql, found)
  if (found !== null && found.version === schemaVersion) return { ...options, sql, ledger: sameLedger(found, options) }
  return sql.transaction(() => {
    // Read again: another process may have created the tables since.
    const now = readMeta(sql)
    refuseOthers(sql, now)
    const version = now?.version ?? 0
    if (version < 1) sql.run('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID')
    for (const statement of migrations.slice(version).flat()) sql.run(statement)
    setMeta(sql, 'version', String(schemaVersion))
    const ledger = now === null ? (options.ledger ?? options.ids.uuid()) : sameLedger(now, options)
    const context = { ...options, sql, ledger }
    if (now === null) {
      setMeta(sql, 'ledger', ledger)
      new ChainEnd(context, 'ledger', 'system', options.clock.now().toISOString()).append('ledger.created', 'ledger', {
        version: schemaVersion,
      })
    }
    return context
  })
}

/** Creates the tables of this version without a ledger in them, for an import. Throws conflict where there are tables. */
export function createEmpty(sql: Sql, ledger: string): void {
  if (readMeta(sql) !== null) {
    throw new LedgerError('conflict', 'There is a ledger already; import into a new file.')
  }
  refuseForeignTables(sql)
  sql.run('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID')
  for (const statement of migrations.flat()) sql.run(statement)
  setMeta(sql, 'version', String(schemaVersion))
  setMeta(sql, 'ledger', ledger)
}

interface Meta {
  version: number
  ledger: string
}

function readMeta(sql: Sql): Meta | null {
  if (sql.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").length === 0) return null
  const values = new Map<string, string>()
  for (const row of sql.all("SELECT key, value FROM meta WHERE key IN ('version', 'ledger')")) {
    const cells = new Cells(row)
    values.set(cells.text(), cells.text())
  }
  const version = Number(values.get('version'))
  const ledger = values.get('ledger')
  if (!Number.isSafeInteger(version) || version < 1 || ledger === undefined) {
    throw new LedgerError(
      'corrupt',
      'The database is no ledger of agentctl: its `meta` names no version. Name another.',
    )
  }
  return { version, ledger }
}

function setMeta(sql: Sql, key: string, value: string): void {
  sql.run(
    'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    key,
    value,
  )
}

function sameLedger(found: Meta, options: StoreOptions): string {
  if (options.ledger !== undefined && options.ledger !== found.ledger) {
    throw new LedgerError(
      'conflict',
      `This is the ledger of ${found.ledger}, not of ${options.ledger}; name the right one.`,
    )
  }
  return found.ledger
}

/** What a later agentctl or another program wrote is not touched. */
function refuseOthers(sql: Sql, meta: Meta | null): void {
  if (meta === null) refuseForeignTables(sql)
  else if (meta.version > schemaVersion) {
    throw new LedgerError(
      'newer',
      `The ledger has version ${meta.version}; this agentctl knows up to ${schemaVersion}. Use the agentctl that wrote it, or a later one.`,
    )
  }
}

function refuseForeignTables(sql: Sql): void {
  const foreign = sql.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('runs', 'events', 'effects')")
  if (foreign.length > 0) {
    throw new LedgerError(
      'corrupt',
      'The database is no ledger of agentctl: it holds the tables of something else. Name another.',
    )
  }
}
