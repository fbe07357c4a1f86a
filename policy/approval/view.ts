import type { Digest } from '../canonical.ts'
import type { ApprovalRecord, ApprovalSettings, Commit, Person } from './record.ts'

/** The parts of a run that an issue shows; a ledger's RunRecord fits. */
export interface RunView {
  run: string
  workflowName: string
  /** The document as named, workspace-relative where under it. */
  document: string
  planDigest: Digest
  commit: Commit
  settings: ApprovalSettings
  requesters: Requester[]
  instance: {
    job: string
    attempt: number
    workflowRunId: number
    ref: string
    event: string
    isPublic: boolean
    pullRequest: number | null
  } | null
}

/** The parts of a pause that are shown and decided; a ledger's PauseRecord fits. */
export interface PauseView {
  pause: string
  run: string
  state: 'open' | 'resolved'
  items: ApprovalRecord[]
  /** Tasks that will ask when their input is known. */
  later: string[]
  createdAt: string
  expiresAt: string
  /** The registered issue; null until registered or once void. */
  issue: { number: number; id: number; url: string; bodyDigest: Digest } | null
  /** First 12 hex over the items' bindings. */
  shortDigest: string
}

/** Somebody who caused a run, and how; `role` is `bot` for accounts that are no people. */
export interface Requester {
  id: number
  login: string
  role: string
}

/** One person's word on one item, as the ledger keeps it. */
export interface EarlierVote {
  /** Approval id. */
  item: string
  vote: 'approve' | 'reject'
  person: Person
  at: string
}
