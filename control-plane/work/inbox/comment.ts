import type { PauseRecord } from '../../../ledger/port.ts'
import { judge, parseComment } from '../../../policy/approval/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import type { EventPayload } from '../../webhooks/events.ts'
import { verifyRegistration } from '../registration.ts'
import { applyVerdict } from '../verdict.ts'
import { voidIssue } from '../void.ts'
import { decisionFacts, type FoundComment, issueFacts, personFacts } from './facts.ts'
import { again, done, type InboxOutcome } from './outcome.ts'

/** Facts older than this are gathered once more before they decide anything. */
const freshMs = 30_000
const rounds = 3

type Delivered = EventPayload<'issue_comment'>

/** A delivered comment, or a reconciled one, whose issue's node id is not known yet. */
export type CommentPayload = Omit<Delivered, 'issue' | 'repository'> & {
  issue: Omit<Delivered['issue'], 'nodeId'> & { nodeId: string | null }
  reconciled?: boolean
}

/** A comment: looked up (ledger), asked about (GitHub), judged and applied (ledger), in this order. */
export async function workComment(
  context: RepositoryContext,
  action: string,
  payload: CommentPayload,
): Promise<InboxOutcome> {
  const found = await registeredPause(context, action, payload)
  if ('kind' in found) return found
  const pause = found
  const { author, sender, event, isLate } = readPayload(action, payload)
  if (event === 'deleted') return noteChange(context, pause, payload, 'comment_deleted')
  const self = await context.github.self()
  if (!self.ok) return again(self.message, self.retryAt)
  if (author.id === self.value.id) return done('own_comment')
  if (event === 'edited') noteChange(context, pause, payload, 'comment_edited')
  if (payload.comment.body !== null && parseComment(payload.comment.body) === null) return done('no_command')
  for (let round = 0; round < rounds; round++) {
    const body = await wholeBody(context, payload)
    if (typeof body !== 'string') return body
    if (parseComment(body) === null) return done('no_command')
    const found: FoundComment = {
      event: isLate && event === 'created' ? 'reconciled' : event,
      id: payload.comment.id,
      nodeId: payload.comment.nodeId,
      body,
      author,
      sender,
      viaApp: payload.comment.viaApp,
      issue: payload.issue.number,
    }
    const judged = await judgeComment(context, pause.pause, payload, found, self.value.id)
    if (judged !== 'stale') return judged
  }
  return again('the pause kept changing while GitHub was asked')
}

/**
 * The pause that the comment's issue is registered for. A command on an issue that its job opened and did not register
 * makes us register it, where it shows what it must: the word of whoever was quick is not lost.
 */
async function registeredPause(
  context: RepositoryContext,
  action: string,
  { issue, comment }: CommentPayload,
): Promise<PauseRecord | InboxOutcome> {
  const { store } = context
  const registered = store.pauseByIssue(issue.number)
  if (registered !== null) return registered.issue?.id === issue.id ? registered : done('not_our_issue')
  const claimed = issue.marker === null ? null : store.pause(issue.marker)
  const isWaiting = claimed !== null && claimed.state === 'open' && claimed.issue === null
  const isCommand = comment.body === null || parseComment(comment.body) !== null
  if (!isWaiting || !isCommand || action !== 'created') return done('not_our_issue')
  const answer = await verifyRegistration(context, claimed.run, claimed.pause, issue.number)
  if (!answer.ok && answer.refusal.status === 503) return again(answer.refusal.message)
  return store.pauseByIssue(issue.number) ?? done('not_our_issue')
}

async function judgeComment(
  context: RepositoryContext,
  pauseId: string,
  payload: CommentPayload,
  found: FoundComment,
  self: number,
): Promise<InboxOutcome | 'stale'> {
  const { store, clock } = context
  const start = clock.now().getTime()
  const before = store.pause(pauseId)
  const run = before === null ? null : store.record(before.run)
  if (before === null || run === null) return done('not_our_issue')
  const [person, shown] = await Promise.all([
    personFacts(context, found.author, run.settings),
    issueFacts(context, found.issue, payload.issue.nodeId, found.event === 'reconciled' ? found.nodeId : null),
  ])
  if (!person.ok) return again(person.message)
  if (shown.issue.kind === 'unknown') return again(shown.issue.message)

  // From here to the end nothing waits: what is judged is what is committed.
  const pause = store.pause(pauseId)
  const current = store.record(run.run)
  if (pause === null || current === null) return done('not_our_issue')
  if (shown.issue.kind === 'gone') {
    voidIssue(context, pause, found.issue, 'deleted or transferred')
    return done('issue_gone')
  }
  if (clock.now().getTime() - start > freshMs || pause.issue?.number !== before.issue?.number) return 'stale'
  const facts = decisionFacts(context, current, pause, found, {
    person: person.facts,
    issue: shown.issue.facts,
    commentEditedAt: shown.commentEditedAt,
    self,
  })
  return applyVerdict(context, current, pause, found, judge(facts))
}

function readPayload(action: string, payload: CommentPayload) {
  const { user } = payload.comment
  const author = user ?? { id: 0, login: 'ghost', type: '' }
  const isReconciled = payload.reconciled === true
  const event: FoundComment['event'] = isReconciled
    ? 'reconciled'
    : action === 'edited' || action === 'deleted'
      ? action
      : 'created'
  // A body too long for the inbox is read from GitHub, so it may have been edited since: the reconciled rule holds.
  return { author, sender: isReconciled ? null : payload.sender, event, isLate: payload.comment.body === null }
}

async function wholeBody(context: RepositoryContext, payload: CommentPayload): Promise<string | InboxOutcome> {
  if (payload.comment.body !== null) return payload.comment.body
  const comment = await context.github.comment(payload.comment.id)
  if (comment.ok) return comment.value.body
  return comment.code === 'not_found' ? done('comment_gone') : again(comment.message, comment.retryAt)
}

/** An edited or deleted comment changes nothing that was decided; the record says that it happened and who did it. */
function noteChange(
  context: RepositoryContext,
  pause: { pause: string; run: string },
  payload: CommentPayload,
  code: 'comment_edited' | 'comment_deleted',
): InboxOutcome {
  const data = {
    comment: payload.comment.id,
    issue: payload.issue.number,
    author: payload.comment.user?.id ?? null,
    sender: payload.sender.id,
    senderLogin: payload.sender.login,
  }
  context.store.control(
    {
      run: pause.run,
      commands: [{ id: context.ids.uuid(), type: 'note.add', subject: `pause/${pause.pause}`, code, data }],
    },
    `github:${payload.sender.id}`,
  )
  return done(code)
}
