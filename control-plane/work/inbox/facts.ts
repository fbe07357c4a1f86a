import type { PauseRecord, RunRecord } from '../../../ledger/port.ts'
import {
  type Account,
  bodyDigest,
  type DecisionFacts,
  type EligibilityFacts,
  type MembershipFact,
  type PermissionFact,
} from '../../../policy/approval/index.ts'
import type { ApprovalSettings } from '../../../policy/approval/record.ts'
import { bindingSettings } from '../../../policy/decision/index.ts'
import type { Issue, Result } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { pageUrl } from '../addresses.ts'
import { floorNow } from '../floor.ts'

/** What GitHub says about one person at this moment; the parts that it did not say are facts too. */
export type PersonFacts = Pick<EligibilityFacts, 'settings' | 'permission' | 'memberships'>

/** A comment as its webhook or reconciliation brought it, its body whole. */
export interface FoundComment {
  event: DecisionFacts['event']
  id: number
  nodeId: string
  body: string
  author: Account
  sender: Account | null
  viaApp: boolean
  issue: number
}

/** Asks whether a person may decide: permission, floor and listed teams, all at once and none from a cache but the floor. */
export async function personFacts(
  context: RepositoryContext,
  person: Account,
  atPause: ApprovalSettings,
): Promise<{ ok: true; facts: PersonFacts } | { ok: false; message: string }> {
  const [floor, permission] = await Promise.all([floorNow(context), context.github.permission(person.login)])
  if (!floor.ok) return { ok: false, message: floor.refusal.message }
  const settings = bindingSettings(atPause, floor.value.floor)
  const teams = settings.teams ?? []
  const memberships = await Promise.all(
    teams.map(async team => [team, membershipOf(await context.github.membership(team, person.login))] as const),
  )
  return {
    ok: true,
    facts: { settings, permission: permissionOf(permission, person), memberships: Object.fromEntries(memberships) },
  }
}

function permissionOf(
  answer: Result<{ user: Account; permission: string; roleName: string }>,
  person: Account,
): PermissionFact {
  if (!answer.ok) return { ok: false, status: answer.status, message: answer.message }
  // The login may have passed to another account since the event.
  if (answer.value.user.id !== person.id) {
    const message = `${person.login} is now account ${answer.value.user.id}, not ${person.id}`
    return { ok: false, status: 200, message }
  }
  return { ok: true, permission: answer.value.permission, role: answer.value.roleName || null }
}

function membershipOf(answer: Result<{ active: boolean }>): MembershipFact {
  if (answer.ok) return answer.value.active ? 'active' : 'pending'
  return answer.code === 'not_found' ? 'none' : 'error'
}

/** What the issue shows now, or that it is gone. */
export type IssueFacts =
  | { kind: 'there'; facts: DecisionFacts['issue'] }
  | { kind: 'gone' }
  | { kind: 'unknown'; message: string }

/** Reads the issue and when it and a comment were last edited: two calls, side by side where the node id is known. */
export async function issueFacts(
  context: RepositoryContext,
  number: number,
  issueNodeId: string | null,
  commentNodeId: string | null,
): Promise<{ issue: IssueFacts; commentEditedAt: string | null | undefined }> {
  const { github } = context
  const reading = github.issue(number)
  const answer = issueNodeId === null ? await reading : null
  const nodeId = issueNodeId ?? (answer?.ok ? answer.value.nodeId : null)
  const ids = [nodeId, commentNodeId].filter(id => id !== null)
  const [issue, edits] = await Promise.all([reading, github.lastEditedAt(ids)])
  const times = edits.ok ? edits.value : {}
  const commentEditedAt = commentNodeId === null ? undefined : times[commentNodeId]
  if (!issue.ok) {
    const isGone = issue.code === 'not_found'
    return { issue: isGone ? { kind: 'gone' } : { kind: 'unknown', message: issue.message }, commentEditedAt }
  }
  // A transferred issue answers as the one that it became.
  const isSame = issue.value.number === number && issue.value.nodeId === nodeId
  if (!isSame) return { issue: { kind: 'gone' }, commentEditedAt }
  return { issue: { kind: 'there', facts: shownNow(issue.value, times[issue.value.nodeId]) }, commentEditedAt }
}

function shownNow(issue: Issue, edited: string | null | undefined): DecisionFacts['issue'] {
  return {
    number: issue.number,
    state: issue.state,
    isPullRequest: issue.isPullRequest,
    bodyDigest: bodyDigest(issue.body),
    everEdited: edited === undefined ? null : edited !== null,
  }
}

/** The rest of the facts, from the ledger at the moment of the verdict. */
export function decisionFacts(
  context: RepositoryContext,
  run: RunRecord,
  pause: PauseRecord,
  comment: FoundComment,
  gathered: {
    person: PersonFacts
    issue: DecisionFacts['issue']
    commentEditedAt: string | null | undefined
    self: number
  },
): DecisionFacts {
  return {
    ...gathered.person,
    person: comment.author,
    boundIds: boundIds(context, gathered.person.settings),
    event: comment.event,
    comment: { id: comment.id, body: comment.body, lastEditedAt: gathered.commentEditedAt },
    commentSeen: false,
    sender: comment.sender,
    author: comment.author,
    performedViaApp: comment.viaApp,
    ownAccountId: gathered.self,
    issue: gathered.issue,
    pause,
    isCurrentPause: run.pause === pause.pause,
    newerPlanDigest: newerPlan(context, run),
    now: context.clock.now().toISOString(),
    requesters: run.requesters,
    votes: context.store.votes(pause.pause),
    pageUrl: pageUrl(context, run.run),
  }
}

/** Accounts that listed logins were bound to when they first decided. */
export function boundIds(context: RepositoryContext, settings: ApprovalSettings): { [login: string]: number } {
  const bound: { [login: string]: number } = {}
  for (const { login, id } of settings.users ?? []) {
    const row = id === null ? context.store.outbox(`login-bound/${login}`) : null
    const account = row?.payload['id']
    if (typeof account === 'number') bound[login] = account
  }
  return bound
}

/** Plan digest of the run that took this one's place, null where it is the instance's current one. */
function newerPlan(context: RepositoryContext, run: RunRecord): string | null {
  const current = run.instance === null ? null : context.store.byInstance(run.instance.key)
  return current === null || current.run === run.run ? null : current.planDigest
}
