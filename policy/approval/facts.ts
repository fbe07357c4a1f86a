import type { Digest } from '../canonical.ts'
import type { ApprovalSettings } from './record.ts'
import type { EarlierVote, PauseView, Requester } from './view.ts'

/** A GitHub account as an event or the API shows it. */
export interface Account {
  id: number
  login: string
  /** `User`, `Bot`, `Organization`, ... */
  type: string
}

/** What the API said about a permission at this moment, or that it did not say. */
export type PermissionFact =
  | {
      ok: true /** legacy `permission` */
      permission: string /** `role_name`, null on servers without it */
      role: string | null
    }
  | { ok: false; status: number; message: string }

/** `memberships/{login}` of one team; `error` where the API did not answer. */
export type MembershipFact = 'active' | 'pending' | 'none' | 'error'

/** What eligibility depends on; read from the API at this moment, never from a cache. */
export interface EligibilityFacts {
  person: Account
  /** The stricter of the settings at the pause and of the floor now (policy/decision `bindingSettings`). */
  settings: ApprovalSettings
  permission: PermissionFact
  /** By `org/slug`, lower case. Needed only for the teams that `settings` lists; an absent one is an error. */
  memberships: { [team: string]: MembershipFact }
  /** Ids that listed logins, lower case, were bound to at their first use. */
  boundIds: { [login: string]: number }
}

/** All that a verdict on one comment may depend on. */
export interface DecisionFacts extends EligibilityFacts {
  /** How the comment became known: its webhook, or reconciliation. */
  event: 'created' | 'edited' | 'deleted' | 'reconciled'
  comment: {
    id: number
    body: string
    /** GraphQL `lastEditedAt`: null = never edited, undefined = not known. Needed for `reconciled` only. */
    lastEditedAt: string | null | undefined
  }
  /** A comment decides once, however often it is delivered. */
  commentSeen: boolean
  /** Who sent the event; null for reconciliation, which has no sender. */
  sender: Account | null
  /** The comment's author; `person` is the same account. */
  author: Account
  /** `performed_via_github_app` is set. */
  performedViaApp: boolean
  /** Id of our App's bot account or of the token's user, null where there is none. */
  ownAccountId: number | null
  issue: {
    number: number
    state: 'open' | 'closed'
    isPullRequest: boolean
    /** Digest of the body as it is now, line ends normalised; null = not known. */
    bodyDigest: Digest | null
    /** GraphQL `lastEditedAt` of the issue is set, whether restored or not; null = not known. */
    everEdited: boolean | null
  }
  pause: PauseView
  /** Whether the pause is the one that its run waits on. */
  isCurrentPause: boolean
  /** Plan digests of the pause and of the run that came after it, where a newer one exists: both are named. */
  newerPlanDigest: Digest | null
  /** ISO time. */
  now: string
  requesters: Requester[]
  votes: EarlierVote[]
  /** Page of the pause, named in replies. */
  pageUrl: string
}
