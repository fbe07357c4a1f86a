import type { PauseRecord } from '../../../ledger/port.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import type { EventPayload } from '../../webhooks/events.ts'
import { mayCancel } from '../eligibility.ts'
import { reopenIssueRow, statusRow, strayIssuesRow } from '../rows.ts'
import { voidIssue } from '../void.ts'
import { issueFacts } from './facts.ts'
import { again, done, type InboxOutcome } from './outcome.ts'

type IssuePayload = EventPayload<'issues'>

/** What happened to an issue: ours, or one that claims to be. */
export async function workIssue(
  context: RepositoryContext,
  action: string,
  payload: IssuePayload,
): Promise<InboxOutcome> {
  const { issue } = payload
  const pause = context.store.pauseByIssue(issue.number)
  if (pause === null || pause.issue?.id !== issue.id) return strayIssue(context, action, payload)
  switch (action) {
    case 'edited':
      return editedIssue(context, pause, payload)
    case 'deleted':
    case 'transferred':
      voidIssue(context, pause, issue.number, action)
      return done(`issue_${action}`)
    case 'closed':
      return closedIssue(context, pause, payload)
    default:
      return done('nothing_to_do')
  }
}

/** An issue with a pause's marker that is not the registered one: closed with a link once the pause has its own. */
function strayIssue(context: RepositoryContext, action: string, { issue }: IssuePayload): InboxOutcome {
  if (action !== 'opened' && action !== 'edited' && action !== 'reopened') return done('not_our_issue')
  const pause = issue.marker === null ? null : context.store.pause(issue.marker)
  if (pause === null || pause.issue === null) return done('not_our_issue')
  context.store.addOutbox(strayIssuesRow({ run: pause.run, pause: pause.pause }, `${issue.number}-${action}`))
  return done('stray_issue')
}

/** Any edit of the body voids the issue, whether it was restored or not; a new title does not. */
async function editedIssue(
  context: RepositoryContext,
  pause: PauseRecord,
  { issue }: IssuePayload,
): Promise<InboxOutcome> {
  const { issue: shown } = await issueFacts(context, issue.number, issue.nodeId, null)
  if (shown.kind === 'unknown') return again(shown.message)
  if (shown.kind === 'gone') {
    voidIssue(context, pause, issue.number, 'deleted or transferred')
    return done('issue_gone')
  }
  const { bodyDigest, everEdited } = shown.facts
  if (everEdited === null) return again('GitHub did not say whether the issue was edited')
  if (!everEdited && bodyDigest === pause.issue?.bodyDigest) return done('title_only')
  voidIssue(context, pause, issue.number, 'edited')
  return done('issue_edited')
}

/** Closing is a way to cancel for whoever may; anybody else's closing is undone once, with the reason. */
async function closedIssue(
  context: RepositoryContext,
  pause: PauseRecord,
  { issue, sender }: IssuePayload,
): Promise<InboxOutcome> {
  const of = { run: pause.run, pause: pause.pause }
  const self = await context.github.self()
  if (!self.ok) return again(self.message, self.retryAt)
  if (sender.id === self.value.id) return done('own_closing')
  if (pause.state === 'resolved') return done('already_resolved')
  const may = await mayCancel(context, sender)
  if (!may.ok) return again(may.message)
  const byCommit = may.value ? await context.github.closedByCommit(issue.number) : null
  if (byCommit !== null && !byCommit.ok) return again(byCommit.message, byCommit.retryAt)
  const cause = `closed-${context.ids.uuid()}`
  if (may.value && byCommit?.value === false) {
    const command = {
      id: cause,
      type: 'run.cancel',
      person: { id: sender.id, login: sender.login },
      reason: `closed issue #${issue.number}`,
      via: 'issue_closed',
    } as const
    context.store.control({ run: pause.run, commands: [command] }, `github:${sender.id}`, [statusRow(of, cause)])
    return done('cancelled')
  }
  const isFirst = context.store.addOutbox(reopenIssueRow(of, issue.number, sender.login))
  if (!isFirst) context.store.addOutbox(statusRow(of, cause))
  return done(isFirst ? 'reopened' : 'left_closed')
}
