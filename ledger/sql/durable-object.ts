import { contractSql, type Row, type Sql, type SqlValue } from './contract.ts'
import { resultCodeOf, storageFailure } from './failure.ts'

/** The part of a SQLite-backed Durable Object's `ctx.storage` that the ledger uses. */
export interface DurableObjectStorage {
  sql: { exec(query: string, ...bindings: unknown[]): { raw(): { toArray(): unknown[][] } } }
  transactionSync<T>(f: () => T): T
}

/** Durable Object storage as the contract wants it. What it returns is durable once the object's answer leaves it. */
export function durableObjectSql(storage: DurableObjectStorage): Sql {
  const exec = (text: string, values: SqlValue[]): Row[] => {
    try {
      const rows = storage.sql
        .exec(text, ...values)
        .raw()
        .toArray()
      return rows.map(row => row.map(asValue))
    } catch (error) {
      if (!(error instanceof Error)) throw error
      throw storageFailure('of this repository', resultCodeOf(error.message), error) ?? error
    }
  }
  return contractSql({
    all: exec,
    run: (text, values) => {
      exec(text, values)
    },
    transaction: f => storage.transactionSync(f),
  })
}

function asValue(value: unknown): SqlValue {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return value as SqlValue
}
