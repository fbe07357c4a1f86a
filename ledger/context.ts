import type { Clock, Ids } from '../policy/ports.ts'
import type { Sql } from './sql/contract.ts'

/** What every part of the ledger works with. */
export interface Context {
  sql: Sql
  clock: Clock
  ids: Ids
  /** Repository id, or a UUID for a local ledger; the `ledger` of every audit event. */
  ledger: string
}
