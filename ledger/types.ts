import type { ApprovalSettings } from '../policy/approval/record.ts'
import type { Digest } from '../policy/canonical.ts'
import type { JsonObject } from '../policy/json.ts'
import type { RunState } from '../policy/states.ts'
import type { HostFloorRecord, Instance, Requester } from './commands.ts'

/**
 * Who holds a run's lease: a GitHub job attempt, or a process of this machine (boot id, pid, start time in ticks, and the
 * pid namespace in which it has that pid; null where there is none, absent in what older versions wrote).
 */
export type LeaseHolder =
  | { kind: 'job'; workflowRunId: number; attempt: number }
  | { kind: 'local'; bootId: string; pid: number; startTime: string; pidNamespace?: string | null }

export interface Lease {
  holder: LeaseHolder
  epoch: number
  expiresAt: string
}

/** What `acquire` may know besides the lease itself. */
export interface AcquireRules {
  /** Whether a local holder still lives, null where that cannot be seen; then, and without it, only expiry frees its lease. */
  isAlive?: (holder: Extract<LeaseHolder, { kind: 'local' }>) => boolean | null
  /** The facts of the attempt that takes over; replaces the recorded ones of the same key. */
  instance?: Instance
  /** What the new holder knows of its host's floor; absent leaves what is recorded. */
  hostFloor?: HostFloorRecord
  /** Added to the run's requesters. */
  requesters?: Requester[]
  /**
   * The attempt that holds the lease asks again: its answer was lost before it wrote anything, or its main has ended and
   * its post step settles what is open. Fences its first asking.
   */
  retake?: boolean
}

/** `taken` is false where there is nothing to hold: the run has ended, is uncertain, or an item is unresolved. */
export interface Acquired {
  epoch: number
  taken: boolean
}

export interface Reservation {
  instance: Instance
  settings: ApprovalSettings
  requesters: Requester[]
  /** A failed run that the new one follows. */
  parent: string | null
}

export interface RunQuery {
  state?: RunState
  workflow?: string
  /** GITHUB_SHA of the run. */
  commit?: string
  /** Login of the actor. */
  actor?: string
  /** ISO time; runs created at or after it. */
  since?: string
  /** From `next` of the page before. */
  cursor?: string | null
  limit?: number
}

export interface Page<Item> {
  items: Item[]
  next: string | null
}

/** One verified webhook delivery. */
export interface Delivery {
  delivery: string
  event: string
  action: string
  /** Comment that the delivery is about; a comment's id and action are taken once. */
  comment: number | null
  payload: JsonObject
  receivedAt: string
  /** Set where nothing is to be done about it: kept as done, so that it is known when it comes again. */
  outcome?: string
}

export interface InboxRow extends Delivery {
  attempts: number
  lastError: string | null
}

/** Work that follows a commit, done at least once; `id` makes it idempotent. */
export interface NewOutboxRow {
  id: string
  run: string | null
  kind: string
  payload: JsonObject
  /** ISO time; now when absent. */
  dueAt?: string
}

export interface OutboxRow {
  id: string
  run: string | null
  kind: string
  payload: JsonObject
  state: 'due' | 'done' | 'dead'
  attempts: number
  dueAt: string
  lastError: string | null
}

/** One exported line of the audit trail; `salt` and `data` are absent once erased. */
export interface AuditLine {
  v: 1
  ledger: string
  chain: string
  seq: number
  at: string
  actor: string
  type: string
  subject: string
  dataDigest: Digest
  previous: Digest
  hash: Digest
  /** Hex of 16 bytes. */
  salt?: string
  data?: JsonObject
}
