/** The ledger's front door: what happened, kept durably, and what may happen next. */

export { type AuditType, auditTypes } from './audit/types.ts'
export { type AuditVerdict, verifyAudit } from './audit/verify.ts'
export { importLedger } from './dump.ts'
export { type EmbeddedLedger, embeddedLedger, isAlive, openEmbedded, processHolder } from './embedded.ts'
export { compensationsOf, planOfRun, vouchedFault } from './run-plan.ts'
export type { Row, Sql, SqlValue } from './sql/contract.ts'
export { type DurableObjectStorage, durableObjectSql } from './sql/durable-object.ts'
export { type NodeSql, type NodeSqlOptions, openNodeSql } from './sql/node.ts'
export { LedgerStore, type StoreOptions } from './store.ts'
export { systemClock, systemIds } from './system.ts'
export type {
  Acquired,
  AcquireRules,
  AuditLine,
  Delivery,
  InboxRow,
  Lease,
  LeaseHolder,
  NewOutboxRow,
  OutboxRow,
  Page,
  Reservation,
  RunQuery,
} from './types.ts'
export { payloadOf } from './values.ts'
