import type { ApprovalRecord, ApprovalSettings, Commit } from '../policy/approval/record.ts'
import type { Digest } from '../policy/canonical.ts'
import type { Decision } from '../policy/decision/decision.ts'
import type { EffectClass, Idempotency, Isolation, Risk } from '../policy/effect.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import type { DenialCause, EffectState, RunState, TaskState } from '../policy/states.ts'
import type { Artifact, ControlCommand, HostFloorRecord, Instance, LeaseCommand, Requester } from './commands.ts'
import type { BlobRef, Payload } from './payload.ts'

/** The asynchronous port: embedded and HTTP ledgers are one to the runner (00, The house). */
export interface Ledger {
  /** Applies a batch for a run whose lease the caller holds. Throws LedgerError. */
  apply(batch: Batch): Promise<Receipt>
  /** The whole of one run, as resume needs it; null where there is none. Payloads are resolved, blobs included. */
  snapshot(run: string): Promise<RunSnapshot | null>
  /** Stores bytes by digest, idempotent; returns only when durable. */
  putBlob(bytes: Uint8Array): Promise<BlobRef>
  /** The bytes of a blob, null where unknown. Verified against the digest. */
  getBlob(sha256: Digest): Promise<Uint8Array | null>
  /** The long-term memory that this ledger keeps; absent where it cannot be read from here. */
  readonly longTerm?: LongTermMemory
  close(): Promise<void>
}

/** The repository's long-term memory, read; it is written with the finish of the effect that writes it. Never expired values. */
export interface LongTermMemory {
  /** null where the namespace has no such key. */
  read(namespace: string, key: string): Promise<LongTermItem | null>
  /** Values that hold every word of the query, the latest written first, at most `limit` (1..100). */
  search(namespace: string, query: string, limit: number): Promise<LongTermItem[]>
}

export interface LongTermItem {
  key: string
  value: Json
}

/** Commands of one transaction, in order; `epoch` is the fencing number of the sender's lease. */
export interface Batch {
  run: string
  epoch: number
  commands: LeaseCommand[]
}

/** Control commands of one transaction; they need no lease. */
export interface ControlBatch {
  run: string
  commands: ControlCommand[]
}

export interface Receipt {
  epoch: number
  /** Hash of the run chain's last event. */
  head: Digest
  /** Somebody asked the run to stop. */
  cancelRequested: boolean
}

/**
 * A refusal or failure of the ledger. `code` tells the kind; every message names the remedy.
 * - stale_epoch, lease_held, not_found, conflict, invalid: refused, nothing changed;
 * - locked, read_only, full, corrupt, newer, unreachable, unauthorised: persistence (exit 5), nothing acknowledged is lost.
 */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
  readonly code: LedgerErrorCode
  constructor(code: LedgerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
export const ledgerErrorCodes = [
  'stale_epoch',
  'lease_held',
  'not_found',
  'conflict',
  'invalid',
  'locked',
  'read_only',
  'full',
  'corrupt',
  'newer',
  'unreachable',
  'unauthorised',
] as const
export type LedgerErrorCode = (typeof ledgerErrorCodes)[number]

export interface RunRecord {
  run: string
  state: RunState
  workflowName: string
  document: string
  workflowDigest: Digest
  planDigest: Digest
  floorDigest: Digest | null
  /** As whoever last began or resumed the run told it; null where nobody did. */
  hostFloor: HostFloorRecord | null
  commit: Commit
  parent: string | null
  instance: Instance | null
  settings: ApprovalSettings
  resumeWith: 'rerun' | 'workflow_dispatch'
  requesters: Requester[]
  cancelRequested: boolean
  epoch: number
  /** Current pause, null unless paused. */
  pause: string | null
  createdAt: string
  updatedAt: string
  endedAt: string | null
}

export interface TaskRecord {
  task: string
  state: TaskState
  attempt: number
  needs: string[]
  failure: 'stop' | 'continue'
  output: Json
  error: { code: string; message: string } | null
  condition: JsonObject | null
  startedAt: string | null
  endedAt: string | null
  /** The task that this one compensates; absent on every other. */
  compensates?: string
}

export interface EffectRecord {
  effect: Digest
  run: string
  task: string
  attempt: number
  ordinal: number
  agent: string | null
  operation: string
  tool: string
  capability: string
  effectClass: EffectClass
  risk: Risk
  idempotency: Idempotency
  isolation: Isolation
  state: EffectState
  denial: DenialCause | null
  input: Json
  inputDigest: Digest
  binding: JsonObject
  bindingDigest: Digest
  decision: Decision
  /** Approval that its current binding was approved under; null where none was given or needed. */
  approval: Digest | null
  result: Json
  error: { code: string; message: string } | null
  artifacts: Artifact[]
  /** What held it while it ran (`containment`, limits, what was absent); null where nothing had to. */
  enforcement: JsonObject | null
  reconciliations: { status: string; reason: string; at: string; actor: string }[]
  requestedAt: string
  startedAt: string | null
  finishedAt: string | null
}

export interface PauseRecord {
  pause: string
  run: string
  state: 'open' | 'resolved'
  items: ApprovalRecord[]
  later: string[]
  createdAt: string
  expiresAt: string
  /** The registered issue; null until registered or once void. */
  issue: { number: number; id: number; url: string; bodyDigest: Digest } | null
  /** First 12 hex over the items' bindings. */
  shortDigest: string
}

/** Everything of one run; memory is the working memory as last committed. */
export interface RunSnapshot {
  record: RunRecord
  plan: Json
  tasks: TaskRecord[]
  effects: EffectRecord[]
  memory: JsonObject
  /** Oldest first. */
  pauses: PauseRecord[]
  outputs: Json
  head: Digest
  /**
   * Milliseconds that earlier holders of the lease worked on the run, without the time since the present one took it;
   * absent where the ledger does not tell.
   */
  activeMilliseconds?: number
  /** How the run had ended before it was opened for its compensations; absent where it was not. */
  former?: Exclude<RunState, 'running' | 'paused'>
}

export type { Artifact, BlobRef, Instance, Payload, Requester }
