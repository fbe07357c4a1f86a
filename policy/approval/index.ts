/**
 * How people decide: the grammar of their comments, who is eligible, what the issue shows, what a comment comes to, and
 * how a decided run goes on. Pure; every fact is handed in, and a missing fact is never a yes.
 */
export { type BoundCommand, bindCommand, type DecidingCommand } from './bind-command.ts'
export { type CommentCommand, parseComment, plainWords } from './comment.ts'
export { type Eligibility, eligible, holds } from './eligible.ts'
export type { Account, DecisionFacts, EligibilityFacts, MembershipFact, PermissionFact } from './facts.ts'
export { type IssueInput, issueLengthMax, type RenderedIssue, renderIssue } from './issue.ts'
export { judge } from './judge.ts'
export { code } from './markdown.ts'
export { bodyDigest, type MarkerKind, marker, markerOf, webRunUrl } from './markers.ts'
export type {
  ApprovalRecord,
  ApprovalSettings,
  Commit,
  ExpectedEffect,
  Person,
  Resolution,
  ResolutionOutcome,
} from './record.ts'
export { defaultApprovalSettings, expiryDefaultSeconds, expiryMaxSeconds } from './record.ts'
export { chooseRedispatch } from './redispatch.ts'
export type { RedispatchChoice, RedispatchFacts, RedispatchFailure, RedispatchJob } from './redispatch-facts.ts'
export { type ReplyDetails, renderReply } from './reply.ts'
export { neededApprovals, type RequesterFacts, requesterCommitsMax, requesters } from './requesters.ts'
export { commitState, renderStatusComment, type StatusInput, statusDescription } from './status.ts'
export { type Standing, tally } from './tally.ts'
export { approvalsBeneath } from './under-floor.ts'
export { type IgnoreCode, type RefusalCode, type RetryCode, refusalCodes, type Verdict } from './verdict.ts'
export type { EarlierVote, PauseView, Requester, RunView } from './view.ts'
