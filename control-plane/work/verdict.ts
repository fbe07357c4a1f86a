import type { ControlCommand } from '../../ledger/commands.ts'
import type { NewOutboxRow } from '../../ledger/index.ts'
import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import type { Verdict } from '../../policy/approval/index.ts'
import type { ReactionContent } from '../github/index.ts'
import type { RepositoryContext } from '../repository/context.ts'
import type { FoundComment } from './inbox/facts.ts'
import { again, done, type InboxOutcome } from './inbox/outcome.ts'
import { loginBoundRow, reactionRow, replyRow, statusRow } from './rows.ts'
import { voidIssue } from './void.ts'

/** People without triage permission get a reaction, and only so many of them on one issue. */
const strangerReactions = 20

/** Commits what a verdict says, feedback rows in the same transaction. Synchronous: nothing may change under it. */
export function applyVerdict(
  context: RepositoryContext,
  run: RunRecord,
  pause: PauseRecord,
  comment: FoundComment,
  verdict: Verdict,
): InboxOutcome {
  const of = { run: run.run, pause: pause.pause }
  const actor = `github:${comment.author.id}`
  const react = (content: ReactionContent): NewOutboxRow => reactionRow(of, comment.id, content)
  const commit = (command: ControlCommand, followUps: NewOutboxRow[]) =>
    context.store.control({ run: run.run, commands: [command] }, actor, followUps)
  // A comment's command id is its own number: delivered again, it is the same command. Each edit is one of its own.
  const id = comment.event === 'edited' ? `edited-${context.ids.uuid()}` : `comment-${comment.id}`
  switch (verdict.kind) {
    case 'vote': {
      const { vote, items, person, reason, needed, bodyDigest } = verdict
      const binds = verdict.binds.map(bind => loginBoundRow(bind.login, bind.id))
      commit(
        {
          id,
          type: 'approval.vote',
          pause: pause.pause,
          items,
          vote,
          person,
          reason,
          via: 'comment',
          comment: comment.id,
          bodyDigest,
          needed,
        },
        [react(vote === 'approve' ? '+1' : '-1'), statusRow(of, id), ...binds],
      )
      return done(vote)
    }
    case 'cancel': {
      const { person, reason } = verdict
      commit({ id, type: 'run.cancel', person, reason, via: 'comment' }, [react('+1'), statusRow(of, id)])
      return done('cancel')
    }
    case 'status': {
      for (const row of [react('eyes'), statusRow(of, id)]) context.store.addOutbox(row)
      return done('status')
    }
    case 'refuse': {
      const rows = refusalRows(context, of, comment, verdict)
      const data = { comment: comment.id, person: comment.author.id, login: comment.author.login }
      commit({ id, type: 'note.add', subject: `pause/${pause.pause}`, code: verdict.code, data }, rows)
      if (verdict.voidIssue) voidIssue(context, pause, comment.issue, 'edited')
      return done(verdict.code)
    }
    case 'ignore':
      return done(verdict.code)
    case 'retry': {
      context.store.addOutbox(react('eyes'))
      return again(`${verdict.code}: ${verdict.message}`)
    }
  }
}

function refusalRows(
  context: RepositoryContext,
  of: { run: string; pause: string },
  comment: FoundComment,
  verdict: Extract<Verdict, { kind: 'refuse' }>,
): NewOutboxRow[] {
  if (!verdict.reactionOnly) {
    return [reactionRow(of, comment.id, 'confused'), replyRow(of, comment.issue, comment.author.id, verdict.reply)]
  }
  const given = context.store
    .outboxRows({ run: of.run, limit: 1000 })
    .filter(({ payload }) => payload['stranger'] === true && payload['pause'] === of.pause)
  return given.length < strangerReactions ? [reactionRow(of, comment.id, 'confused', true)] : []
}
