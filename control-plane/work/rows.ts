import type { NewOutboxRow, OutboxRow } from '../../ledger/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { ReactionContent } from '../github/index.ts'

/**
 * The rows of the outbox. An id says what is wanted, so that wanting it twice is one row; a payload holds references, and
 * what is written to GitHub is rendered from the ledger at that moment. `redispatch` and `run-ended` come from the ledger.
 */
export const rowKinds = [
  'redispatch',
  'run-ended',
  'reaction',
  'reply',
  'status',
  'commit-status',
  'pull-comment',
  'close-issue',
  'reopen-issue',
  'stray-issues',
  'replacement',
  'login-bound',
  'reconcile',
] as const
export type RowKind = (typeof rowKinds)[number]

interface Of {
  run: string
  pause: string
}

const row = (kind: RowKind, id: string, run: string | null, payload: JsonObject): NewOutboxRow => ({
  id: `${kind}/${id}`,
  run,
  kind,
  payload,
})

/**
 * A sign under a comment that it was seen (where GitHub must be asked again), and how it was taken: one of each.
 * `stranger`: from somebody who gets nothing more.
 */
export function reactionRow(
  { run, pause }: Of,
  comment: number,
  content: ReactionContent,
  stranger = false,
): NewOutboxRow {
  return row('reaction', `${comment}/${content}`, run, { pause, comment, content, stranger })
}

/** The one reply that a person gets on a pause. */
export function replyRow({ run, pause }: Of, issue: number, person: number, body: string): NewOutboxRow {
  return row('reply', `${pause}/${person}`, run, { pause, issue, person, body })
}

/** The status comment is out of date because of `cause`. */
export function statusRow({ run, pause }: Of, cause: string): NewOutboxRow {
  return row('status', `${pause}/${cause}`, run, { pause })
}

/** The commit status is out of date because of `cause`. */
export function commitStatusRow({ run, pause }: Of, cause: string): NewOutboxRow {
  return row('commit-status', `${pause}/${cause}`, run, { pause })
}

/** A pull request's people should find the issue. */
export function pullCommentRow({ run, pause }: Of): NewOutboxRow {
  return row('pull-comment', pause, run, { pause })
}

/** The issue's work is over: closed with its outcome. */
export function closeIssueRow({ run, pause }: Of, issue: number): NewOutboxRow {
  return row('close-issue', `${pause}/${issue}`, run, { pause, issue })
}

/** Somebody closed the issue who may not cancel: opened again, once per issue. */
export function reopenIssueRow({ run, pause }: Of, issue: number, by: string): NewOutboxRow {
  return row('reopen-issue', `${pause}/${issue}`, run, { pause, issue, by })
}

/** Other issues that claim to be about this pause are closed with a link. */
export function strayIssuesRow({ run, pause }: Of, cause: string): NewOutboxRow {
  return row('stray-issues', `${pause}/${cause}`, run, { pause })
}

/** A pause needs an issue that we open ourselves: its issue `voided` is void, or none (0) was ever registered. */
export function replacementRow({ run, pause }: Of, voided: number, cause: string): NewOutboxRow {
  return row('replacement', `${pause}/${voided}`, run, { pause, voided, cause })
}

/** A login that is listed without a number belongs to this account from its first use on. */
export function loginBoundRow(login: string, id: number): NewOutboxRow {
  return row('login-bound', login, null, { login, id })
}

/** The repository's one reconciliation timer. */
export const reconcileRowId = 'reconcile/all'
export function reconcileRow(since: string): NewOutboxRow {
  return row('reconcile', 'all', null, { since })
}

/** Text of a payload's member, '' where it is none. */
export function textOf({ payload }: OutboxRow, name: string): string {
  const value = payload[name]
  return typeof value === 'string' ? value : ''
}

/** Number of a payload's member, 0 where it is none. */
export function numberOf({ payload }: OutboxRow, name: string): number {
  const value = payload[name]
  return typeof value === 'number' ? value : 0
}
