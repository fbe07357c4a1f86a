import type { Sql } from '../../../ledger/index.ts'

/** Where a crash happens: before the nth statement from now, or right after the nth commit. */
export interface Fault {
  when: 'statement' | 'commit'
  nth: number
}

export class Crash extends Error {
  override readonly name = 'Crash'
}

/** A connection that dies at its fault, as a killed process does: nothing works on it afterwards. */
export function faultySql(sql: Sql, fault: Fault): Sql {
  let statements = 0
  let commits = 0
  let isDead = false
  const die = (): never => {
    isDead = true
    throw new Crash('the process is gone')
  }
  const count = () => {
    if (isDead) throw new Crash('the process is gone')
    statements += 1
    if (fault.when === 'statement' && statements === fault.nth) die()
  }
  return {
    all(text, ...values) {
      count()
      return sql.all(text, ...values)
    },
    run(text, ...values) {
      count()
      sql.run(text, ...values)
    },
    transaction(f) {
      const result = sql.transaction(() => {
        const value = f()
        // The commit itself is a statement too.
        count()
        return value
      })
      commits += 1
      if (fault.when === 'commit' && commits === fault.nth) die()
      return result
    },
  }
}
