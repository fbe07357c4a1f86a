import type { ApprovalRecord } from '../policy/approval/record.ts'
import type { EarlierVote } from '../policy/approval/view.ts'
import type { Digest } from '../policy/canonical.ts'
import type { JsonObject } from '../policy/json.ts'
import type { Clock, Ids } from '../policy/ports.ts'
import { erase } from './audit/erase.ts'
import { exportLines } from './audit/export.ts'
import { chainHead, chainTip, type EventQuery, type EventsPage, readEvents } from './audit/read.ts'
import * as blobs from './blobs.ts'
import type { Context } from './context.ts'
import { applyBatch, applyControl } from './domain/batch.ts'
import { acquireLease, leaseOf } from './domain/lease.ts'
import { reserveRun } from './domain/reserve.ts'
import { exportLedger } from './dump.ts'
import * as inbox from './inbox.ts'
import { readLongTerm, searchLongTerm } from './memory/long-term.ts'
import { useOnce } from './once.ts'
import * as outbox from './outbox.ts'
import type { BlobRef } from './payload.ts'
import type {
  Batch,
  ControlBatch,
  EffectRecord,
  LongTermItem,
  PauseRecord,
  Receipt,
  RunRecord,
  RunSnapshot,
} from './port.ts'
import { readEffect, readEffects } from './read/effects.ts'
import * as pauses from './read/pauses.ts'
import { readByInstance, readRun, readRuns } from './read/runs.ts'
import { readSnapshot } from './read/snapshot.ts'
import { votesOf } from './read/votes.ts'
import { openLedger } from './schema.ts'
import type { Sql } from './sql/contract.ts'
import { sweep } from './sweep.ts'
import type {
  Acquired,
  AcquireRules,
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

export interface StoreOptions {
  clock: Clock
  ids: Ids
  /** Repository id, or a UUID for a local ledger. Absent: the one that the file carries, a fresh UUID in a new file. */
  ledger?: string
}

/**
 * The ledger of one repository: what happened, and what is allowed to happen next. Synchronous over the SQL contract, the
 * same code in Node and in a Durable Object. Every change is one transaction with its audit events. Methods throw
 * LedgerError; a refused call has changed nothing.
 */
export class LedgerStore {
  readonly ledger: string
  readonly #context: Context

  /** Creates or migrates the tables. Throws LedgerError newer, corrupt and the storage's own. */
  constructor(sql: Sql, options: StoreOptions) {
    this.#context = openLedger(sql, options)
    this.ledger = this.#context.ledger
  }

  // --- changes of a run ---

  /**
   * Applies a batch for the run's lease holder. A batch that was applied before answers its receipt again. `holder` takes
   * the lease of a run that its first batch creates without a reservation.
   */
  apply(batch: Batch, actor: string, holder?: LeaseHolder): Receipt {
    return applyBatch(this.#context, batch, actor, holder)
  }

  /** Applies control commands; `followUps` commit with them. */
  control(batch: ControlBatch, actor: string, followUps: NewOutboxRow[] = []): Receipt {
    return applyControl(this.#context, batch, actor, followUps)
  }

  /**
   * An unused run id for an instance, and the epoch that its run.create must carry. Asking again answers the same id at
   * the next epoch, so that the earlier asker is fenced. Throws conflict where the instance has a run that is not over.
   */
  reserve(reservation: Reservation): { run: string; epoch: number } {
    return reserveRun(this.#context, reservation)
  }

  /** Takes the lease of a run that can go on, and finishes its `redispatch` rows. Throws lease_held naming the holder. */
  acquire(run: string, holder: LeaseHolder, actor: string, rules: AcquireRules = {}): Acquired {
    return acquireLease(this.#context, run, holder, actor, rules)
  }

  /** The lease as last written, null where nobody holds one. */
  lease(run: string): Lease | null {
    return leaseOf(this.#context, run)
  }

  // --- reads ---

  record(run: string): RunRecord | null {
    return readRun(this.#context, run)
  }

  /** The current, that is the latest, run of an instance. */
  byInstance(key: string): RunRecord | null {
    return readByInstance(this.#context, key)
  }

  /** Newest first. */
  runs(query: RunQuery = {}): Page<RunRecord> {
    return readRuns(this.#context, query)
  }

  snapshot(run: string): RunSnapshot | null {
    return readSnapshot(this.#context, run)
  }

  /** In plan order, then by attempt and ordinal. */
  effects(run: string): EffectRecord[] {
    return readEffects(this.#context, run)
  }

  effect(effect: Digest): EffectRecord | null {
    return readEffect(this.#context, effect)
  }

  /** Oldest first. */
  pauses(run: string): PauseRecord[] {
    return pauses.ofRun(this.#context, run)
  }

  pause(pause: string): PauseRecord | null {
    return pauses.byId(this.#context, pause)
  }

  /** The pause that this issue is registered for; null once the issue is void. */
  pauseByIssue(issueNumber: number): PauseRecord | null {
    return pauses.byIssue(this.#context, issueNumber)
  }

  /** What people have said on a pause's items so far, oldest first; one word a person and item. */
  votes(pause: string): EarlierVote[] {
    return votesOf(this.#context, pause)
  }

  /** Pauses with an unresolved item, oldest first. */
  openPauses(): PauseRecord[] {
    return pauses.open(this.#context)
  }

  approval(id: Digest): ApprovalRecord | null {
    return pauses.approval(this.#context, id)
  }

  // --- long-term memory ---

  /** The value of a key, null where there is none or its time is over. */
  longTerm(namespace: string, key: string): LongTermItem | null {
    return readLongTerm(this.#context, namespace, key)
  }

  /** Values whose key or text holds every word of the query, the latest first. */
  searchLongTerm(namespace: string, query: string, limit = 10): LongTermItem[] {
    return searchLongTerm(this.#context, namespace, query, limit)
  }

  // --- blobs ---

  /** Stores one part of a blob; `run` counts its bytes against that run's quota. Throws invalid. */
  putBlobPart(
    sha256: Digest,
    part: number,
    totalBytes: number,
    bytes: Uint8Array,
    run?: string,
  ): { complete: boolean } {
    return blobs.putPart(this.#context, sha256, part, totalBytes, bytes, run)
  }

  /** One part of a complete blob, null where there is none. */
  getBlobPart(sha256: Digest, part: number): Uint8Array | null {
    return blobs.getPart(this.#context, sha256, part)
  }

  putBlob(bytes: Uint8Array): BlobRef {
    return blobs.put(this.#context, bytes)
  }

  /** Verified against its digest; null where unknown or incomplete. */
  getBlob(sha256: Digest): Uint8Array | null {
    return blobs.get(this.#context, sha256)
  }

  // --- audit ---

  /** A page of one chain, the ledger's own where none is named, after a sequence number (0 = from the start). */
  events(query: EventQuery): EventsPage {
    return readEvents(this.#context, query)
  }

  /** Hash of a chain's last event; 64 zeros before the first. */
  head(chain = 'ledger'): Digest {
    return chainHead(this.#context, chain)
  }

  /** Sequence number and hash of a chain's last event; 0 and 64 zeros before the first. */
  tip(chain = 'ledger'): { seq: number; hash: Digest } {
    return chainTip(this.#context, chain)
  }

  /**
   * The audit trail as NDJSON lines, read page by page: of a run (its chain, then the ledger's checkpoints of it), or of
   * everything (the ledger's chain, then each run's).
   */
  exportLines(run?: string): Iterable<string> {
    return exportLines(this.#context, run)
  }

  /** Drops the content of a run that is over: event data, inputs, results, outputs. Its chain still verifies. */
  eraseRun(run: string, actor: string): void {
    erase(this.#context, run, actor)
  }

  /** The whole ledger as NDJSON lines for `importLedger`. Throws conflict where the ledger changes meanwhile. */
  exportLedger(): Iterable<string> {
    return exportLedger(this.#context)
  }

  // --- inbox, outbox, timers ---

  /** `duplicate` for a delivery or comment seen before; one that waits for its retry is then due at once. */
  addInbox(delivery: Delivery): 'new' | 'duplicate' {
    return inbox.add(this.#context, [delivery])[0] ?? 'duplicate'
  }

  /** The same for deliveries that came together: one commit, answers in their order. */
  addInboxAll(deliveries: readonly Delivery[]): ('new' | 'duplicate')[] {
    return inbox.add(this.#context, deliveries)
  }

  dueInbox(limit = 50): InboxRow[] {
    return inbox.due(this.#context, limit)
  }

  doneInbox(delivery: string, outcome: string): void {
    inbox.done(this.#context, delivery, outcome)
  }

  failInbox(delivery: string, error: string, retryAt: string): void {
    inbox.fail(this.#context, delivery, error, retryAt)
  }

  /** False where a row of that id exists already. */
  addOutbox(row: NewOutboxRow): boolean {
    return outbox.add(this.#context, row)
  }

  dueOutbox(limit = 50): OutboxRow[] {
    return outbox.due(this.#context, limit)
  }

  outbox(id: string): OutboxRow | null {
    return outbox.byId(this.#context, id)
  }

  /** Newest first; of one run or state where given. */
  outboxRows(query: { run?: string; state?: OutboxRow['state']; limit?: number } = {}): OutboxRow[] {
    return outbox.list(this.#context, query)
  }

  /** `data` is merged into the payload. */
  finishOutbox(id: string, data?: JsonObject): void {
    outbox.finish(this.#context, id, data)
  }

  /** Counts an attempt; `retryAt` null makes the row a dead letter. `data` is merged into the payload. */
  failOutbox(id: string, error: string, retryAt: string | null, data?: JsonObject): void {
    outbox.fail(this.#context, id, error, retryAt, data)
  }

  /** Moves a due row to a later time without counting an attempt. */
  deferOutbox(id: string, dueAt: string, data?: JsonObject): void {
    outbox.defer(this.#context, id, dueAt, data)
  }

  /** Makes a dead or done row due again, its attempts at zero. */
  retryOutbox(id: string): void {
    outbox.retry(this.#context, id)
  }

  /** True the first time that a key is used before it expires (token ids). */
  useOnce(key: string, expiresAt: string): boolean {
    return useOnce(this.#context, key, expiresAt)
  }

  /** Least due time of inbox, outbox and the expiry of open pauses. */
  nextDue(): string | null {
    return outbox.nextDue(this.#context)
  }

  /** Drops blobs that nothing refers to after a day, used keys, and old command and delivery records. */
  sweep(): void {
    sweep(this.#context)
  }
}
