import { LedgerError } from '../port.ts'

/**
 * The SQL contract: what both engines (node:sqlite, Durable Object storage) can do, and nothing that either cannot.
 * Synchronous; rows are arrays, never open cursors; one statement a string; transactions do not nest.
 */
export interface Sql {
  /** All rows of one statement. */
  all(sql: string, ...values: SqlValue[]): Row[]
  /** One statement whose rows nobody wants. */
  run(sql: string, ...values: SqlValue[]): void
  /** Runs `f` in one transaction: durable when it returns, undone as a whole when it throws. A promise is refused. */
  transaction<T>(f: () => T): T
}
export type SqlValue = string | number | null | Uint8Array
export type Row = SqlValue[]

/** Limits of Durable Object storage, held on Node too since a local workerd does not hold them. */
export const sqlLimits = { values: 100, valueBytes: 1_000_000, statementBytes: 100_000 } as const

/** What an engine brings; `contractSql` adds the checks. */
export interface SqlEngine {
  all(sql: string, values: SqlValue[]): Row[]
  run(sql: string, values: SqlValue[]): void
  transaction<T>(f: () => T): T
}

/** An engine behind the contract. Throws LedgerError `invalid` for what the contract does not allow. */
export function contractSql(engine: SqlEngine): Sql {
  const checked = new Set<string>()
  let inTransaction = false

  const check = (sql: string, values: SqlValue[]) => {
    if (!checked.has(sql)) {
      checkStatement(sql)
      checked.add(sql)
    }
    if (values.length > sqlLimits.values)
      refuse(`${values.length} values in one statement, at most ${sqlLimits.values}`)
    for (const value of values) checkValue(value)
  }

  return {
    all(sql, ...values) {
      check(sql, values)
      return engine.all(sql, values)
    },
    run(sql, ...values) {
      check(sql, values)
      engine.run(sql, values)
    },
    transaction(f) {
      if (inTransaction) refuse('transactions do not nest')
      inTransaction = true
      try {
        return engine.transaction(() => {
          const result = f()
          if (isThenable(result)) refuse('a transaction is synchronous; its function returned a promise')
          return result
        })
      } finally {
        inTransaction = false
      }
    },
  }
}

function checkStatement(sql: string): void {
  if (utf8Length(sql) > sqlLimits.statementBytes) refuse(`a statement of over ${sqlLimits.statementBytes} bytes`)
  // Our statements hold no `;` in literals, so a `;` with text behind it is a second statement (node:sqlite would drop it in silence).
  if (/;\s*\S/.test(sql)) refuse(`two statements in one string: ${sql.slice(0, 80)}`)
}

function checkValue(value: unknown): void {
  if (value === null) return
  if (typeof value === 'string') {
    // Three bytes are the most that one UTF-16 unit takes.
    if (value.length * 3 > sqlLimits.valueBytes && utf8Length(value) > sqlLimits.valueBytes) tooLarge()
    return
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse('a number that is not finite')
    return
  }
  if (value instanceof Uint8Array) {
    if (value.byteLength > sqlLimits.valueBytes) tooLarge()
    return
  }
  refuse(`a value of type ${typeof value}; string, number, null and bytes are allowed`)
}

function tooLarge(): never {
  refuse(`a value of over ${sqlLimits.valueBytes} bytes; store it as a blob`)
}

function refuse(what: string): never {
  throw new LedgerError('invalid', `The SQL contract refuses ${what}.`)
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

const encoder = new TextEncoder()
/** Bytes of a string in UTF-8. */
export function utf8Length(text: string): number {
  return encoder.encode(text).byteLength
}
