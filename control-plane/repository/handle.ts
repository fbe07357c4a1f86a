import type { AuditLine, OutboxRow } from '../../ledger/index.ts'
import type { Batch, EffectRecord, LongTermItem, Receipt, RunRecord, RunSnapshot } from '../../ledger/port.ts'
import type { AttachAnswer, AttachRequest, LongTermQuery, PauseIssue, RegistrationAnswer } from '../../ledger/wire.ts'
import type { ApprovalRecord } from '../../policy/approval/record.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import type { RunState } from '../../policy/states.ts'
import type { JobClaims, LeaseClaims, PersonClaims } from '../auth/claims.ts'
import type { RepositoryName } from '../directory/directory.ts'
import type { Answer } from '../problem.ts'

/**
 * One repository of the control plane: its ledger, its GitHub, its due work. Arguments and results are structured
 * cloneable, so that on Node the handle is the service itself and on Workers the stub of a Durable Object. A refusal is
 * an answer; what throws is a fault of ours.
 */
export interface RepositoryHandle {
  /** The attempt table of 04: which run this job works on, with a lease where it may work. */
  attach(input: { claims: JobClaims; request: AttachRequest }): Promise<Answer<AttachAnswer>>
  /** One batch under a lease; `token` is set where the lease token was renewed. */
  apply(input: { lease: LeaseClaims; batch: Batch }): Promise<Answer<Receipt & { token?: string }>>
  snapshot(input: { lease: LeaseClaims }): Promise<Answer<RunSnapshot>>
  /** Long-term memory of the repository, for a run that goes on. */
  longTerm(input: { lease: LeaseClaims; query: LongTermQuery }): Promise<Answer<{ items: LongTermItem[] }>>
  putBlobPart(input: {
    lease: LeaseClaims
    sha256: string
    part: number
    totalBytes: number
    bytes: Uint8Array
  }): Promise<Answer<null>>
  getBlobPart(sha256: string, part: number): Promise<Answer<Uint8Array>>
  /** The issue that a paused run's job has to open. */
  pauseIssue(input: { lease: LeaseClaims }): Promise<Answer<PauseIssue>>
  register(input: { lease: LeaseClaims; pause: string; issue: number }): Promise<Answer<RegistrationAnswer>>

  /** A person's word on one item, by page, API or CLI; eligibility is read from GitHub at this moment. */
  resolve(input: ResolveInput): Promise<Answer<ApprovalView>>
  cancel(input: CancelInput): Promise<Answer<RunRecord>>
  reconcile(input: ReconcileInput): Promise<Answer<EffectRecord>>
  /** Opens a run that ended without success for its compensations; its job is run again to do them. */
  compensate(input: CompensateInput): Promise<Answer<RunRecord>>

  /** Puts a verified delivery into the inbox, once; its work starts soon after. */
  deliver(delivery: Delivery): Promise<'new' | 'duplicate'>
  /** Does what is due; called by timer or alarm. */
  tick(): Promise<void>

  /** What a person may do here; errors are never a yes. `fresh` asks GitHub now, else an answer of the last 60 s may do. */
  access(person: PersonClaims, need: 'read' | 'write', fresh: boolean): Promise<Answer<null>>
  /** The repository as last proved by a token or delivery; null where nothing was ever recorded. */
  repository(): Promise<RepositoryName | null>

  runs(query: RunQuery): Promise<Answer<Page<RunRecord>>>
  run(id: string): Promise<Answer<RunRecord>>
  plan(run: string): Promise<Answer<Json>>
  effects(run: string): Promise<Answer<EffectRecord[]>>
  /** Items of all pauses of a run, resolved or not, oldest pause first. */
  approvals(run: string): Promise<Answer<ApprovalView[]>>
  /** Items of the repository that wait for people, oldest pause first. */
  openApprovals(): Promise<ApprovalView[]>
  approval(id: string): Promise<Answer<ApprovalView>>
  events(input: {
    run: string | null
    after: number
    limit: number
  }): Promise<Answer<{ items: AuditLine[]; next: number | null }>>
  /** Head of a run's chain, or of the ledger's; signed where a key is configured. */
  head(run: string | null): Promise<Answer<AuditHead>>
  /** NDJSON of a run's chain with its checkpoints, or of everything. */
  exportAudit(run: string | null): Promise<Answer<ReadableStream<Uint8Array>>>
  /** Rows of the outbox, newest first: what is owed to GitHub, and what was given up on. */
  outbox(query: { run: string | null; state: OutboxRow['state'] | null; limit: number }): Promise<Answer<OutboxRow[]>>
  /** Puts a dead letter back in the queue; needs write permission. */
  retryDeadLetter(input: { id: string; person: PersonClaims }): Promise<Answer<OutboxRow>>
  /** The effective repository floor as GitHub has it now. */
  floor(): Promise<Answer<{ floor: Json; floorDigest: string | null; sources: string[] }>>
}

/** An approval as the API shows it. */
export type ApprovalView = ApprovalRecord & {
  /**
   * SHA-256 of the registered issue's body; while none is registered, of the body that it would have, since the pause can be
   * decided without it; null once there is nothing to decide.
   */
  bodyDigest: string | null
}

export interface ResolveInput {
  approval: string
  outcome: 'approved' | 'rejected'
  reason: string
  /** Digest of the issue's body that the person decided on. */
  bodyDigest: string
  person: PersonClaims
  via: 'page' | 'api' | 'cli'
}

export interface CancelInput {
  run: string
  reason: string
  person: PersonClaims
  via: 'page' | 'api' | 'cli'
}

export interface ReconcileInput {
  effect: string
  status: 'applied' | 'not-applied' | 'compensated'
  reason: string
  evidence: Json
  result: Json
  person: PersonClaims
}

export interface CompensateInput {
  run: string
  reason: string
  person: PersonClaims
}

/** A webhook whose signature and schema were checked. */
export interface Delivery {
  delivery: string
  event: string
  action: string
  /** GitHub comment id: the second key by which the inbox knows a repetition. */
  comment: number | null
  payload: JsonObject
  repository: RepositoryName
  receivedAt: string
}

export interface RunQuery {
  state: RunState | null
  workflow: string | null
  commit: string | null
  actor: string | null
  since: string | null
  cursor: string | null
  limit: number
}

/** A page of a list; `next` is the cursor of the next one, null at the end. */
export interface Page<Item> {
  items: Item[]
  next: string | null
}

export interface AuditHead {
  ledger: string
  chain: string
  seq: number
  head: string
  /** Ed25519 over the canonical JSON of `{ledger, chain, seq, head}`, base64; null without AGENTCTL_AUDIT_KEY. */
  signature: string | null
  /** Raw Ed25519 public key, base64. */
  publicKey: string | null
}
