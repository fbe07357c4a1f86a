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
import { failure } from '../../github/failure.ts'
import { type Result, success } from '../../github/index.ts'
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

/** Reads what the issue shows and when a comment was edited: one call, one more where the issue's node id is not known. */
export async function issueFacts(
  context: RepositoryContext,
  number: number,
  issueNodeId: string | null,
  commentNodeId: string | null,
): Promise<{ issue: IssueFacts; commentEditedAt: string | null | undefined }> {
  const nodeId = issueNodeId === null ? await nodeIdOf(context, number) : success(issueNodeId)
  const shown = nodeId.ok ? await context.github.shown(nodeId.value, commentNodeId) : nodeId
  if (!shown.ok) {
    const issue: IssueFacts =
      shown.code === 'not_found' ? { kind: 'gone' } : { kind: 'unknown', message: shown.message }
    return { issue, commentEditedAt: undefined }
  }
  const { issue, commentEditedAt } = shown.value
  // A transferred issue may answer as the one that it became.
  if (issue === null || issue.number !== number) return { issue: { kind: 'gone' }, commentEditedAt }
  const { state, isPullRequest, body, editedAt } = issue
  const facts = { number, state, isPullRequest, bodyDigest: bodyDigest(body), everEdited: editedAt !== null }
  return { issue: { kind: 'there', facts }, commentEditedAt }
}

async function nodeIdOf({ github }: RepositoryContext, number: number): Promise<Result<string>> {
  const issue = await github.issue(number)
  if (!issue.ok) return issue
  return issue.value.number === number ? success(issue.value.nodeId) : failure(404, 'not_found', 'transferred', null)
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
