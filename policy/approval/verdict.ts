import type { Digest } from '../canonical.ts'
import type { Person } from './record.ts'

/** Why a comment does not count, each with its own reply. */
export const refusalCodes = [
  'comment_edited',
  'sender_not_author',
  'not_a_person',
  'via_app',
  'pull_request',
  'not_registered_issue',
  'pause_not_current',
  'pause_expired',
  'pause_resolved',
  'issue_closed',
  'issue_edited',
  'permission_too_low',
  'not_an_approver',
  'nobody_eligible',
  'login_id_mismatch',
  'requester',
  'plain_words_several_items',
  'plain_words_not_allowed',
  'items_needed',
  'item_unknown',
  'item_decided',
  'all_with_items',
  'cancel_needs_write',
  'status_needs_triage',
] as const
export type RefusalCode = (typeof refusalCodes)[number]

/** Nothing to say to anybody; kept as a note where it is about a decision. */
export type IgnoreCode = 'no_command' | 'own_comment' | 'comment_seen' | 'comment_deleted'

/** A fact is missing: not eligible now, to be asked again. Never an approval, never a denial. */
export type RetryCode =
  | 'permission_unavailable'
  | 'membership_unavailable'
  | 'edit_history_unavailable'
  | 'issue_unavailable'

/** What one comment comes to. */
export type Verdict =
  | {
      kind: 'vote'
      vote: 'approve' | 'reject'
      /** Approval ids, all open. */
      items: string[]
      reason: string
      person: Person
      /** Distinct approvals that each of these items needs now. */
      needed: number
      /** Body that the person decided on. */
      bodyDigest: Digest
      /** Listed logins without an id that are bound to this person's id from now on, lower case. */
      binds: { login: string; id: number }[]
    }
  | { kind: 'cancel'; person: Person; reason: string }
  | { kind: 'status'; person: Person }
  | {
      kind: 'refuse'
      code: RefusalCode
      /** Markdown for one reply. */
      reply: string
      /** The person has no triage permission (or it is not known): a reaction is all they get. */
      reactionOnly: boolean
      /** The issue no longer shows what was asked: it is void for good, a new one is posted. */
      voidIssue: boolean
    }
  | { kind: 'ignore'; code: IgnoreCode }
  | { kind: 'retry'; code: RetryCode; message: string }
