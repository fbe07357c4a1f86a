import type { StatementSync } from 'node:sqlite'
import { LedgerError } from '../port.ts'
import { contractSql, type Row, type Sql, type SqlValue } from './contract.ts'
import { makeDirectories } from './directories.ts'
import { storageFailure } from './failure.ts'

export interface NodeSql extends Sql {
  close(): void
}

export interface NodeSqlOptions {
  /** How long a statement waits for another process, in milliseconds. */
  timeoutMs?: number
  /** Upper bound of the file in pages of 4 KiB; none by default. */
  maxPages?: number
}

/**
 * A SQLite file as the contract wants it: WAL, synchronous FULL, every transaction IMMEDIATE. Creates the file and its
 * directory. Throws LedgerError locked, read_only, full, corrupt.
 */
export function openNodeSql(file: string, options: NodeSqlOptions = {}): NodeSql {
  // Asked for when needed, since this module is also in the Worker's bundle, which has no node:sqlite.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const { dirname } = process.getBuiltinModule('node:path')

  const guarded = <T>(f: () => T): T => {
    try {
      return f()
    } catch (error) {
      throw named(file, error)
    }
  }

  const database = guarded(() => {
    if (file !== ':memory:') makeDirectories(dirname(file))
    const opened = new DatabaseSync(file, { timeout: options.timeoutMs ?? 5000, enableForeignKeyConstraints: false })
    try {
      opened.exec('PRAGMA synchronous = FULL')
      // A commit of ours is some pages; at SQLite's 1,000 every 200th would wait for a checkpoint.
      opened.exec('PRAGMA wal_autocheckpoint = 4000')
      if (options.maxPages !== undefined) opened.exec(`PRAGMA max_page_count = ${Math.trunc(options.maxPages)}`)
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  })

  // Not at the opening: it is kept in the file, and a file that is refused as somebody else's stays as it was.
  let isWal = false
  const useWal = (): void => {
    if (isWal) return
    guarded(() => database.exec('PRAGMA journal_mode = WAL'))
    isWal = true
  }

  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    statements.set(sql, statement)
    return statement
  }

  const sql = contractSql({
    all: (text, values) => guarded(() => prepare(text).all(...values) as unknown as Row[]),
    run: (text, values: SqlValue[]) => {
      if (!database.isTransaction) useWal()
      guarded(() => prepare(text).run(...values))
    },
    transaction(f) {
      useWal()
      guarded(() => prepare('BEGIN IMMEDIATE').run())
      try {
        const result = f()
        guarded(() => prepare('COMMIT').run())
        return result
      } catch (error) {
        // SQLite has rolled back by itself after some failures, a full disk among them.
        if (database.isTransaction) guarded(() => prepare('ROLLBACK').run())
        throw error
      }
    },
  })
  return Object.assign(sql, {
    close: () => {
      if (database.isOpen) database.close()
    },
  })
}

function named(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof LedgerError) return error
  const where = `file ${file}`
  if ('errcode' in error && typeof error.errcode === 'number') {
    return storageFailure(where, error.errcode, error) ?? error
  }
  // What else has a system call is the making of its directory.
  if (!('code' in error && 'syscall' in error)) return error
  return storageFailure(where, error.code === 'ENOSPC' ? 13 : 14, error) ?? error
}
