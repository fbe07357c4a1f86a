import type { OutboxRow } from '../../../ledger/index.ts'
import { marker } from '../../../policy/approval/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { numberOf, statusRow, textOf } from '../rows.ts'
import { commentOnce } from './feedback.ts'
import { done, failedCall, type Outcome } from './outcome.ts'
import { writeStatus } from './status-comment.ts'

/** Closes the registered issue once its pause is decided, the outcome standing in the status comment above. */
export async function closeIssue(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const { github, store } = context
  const pause = store.pause(textOf(row, 'pause'))
  const number = numberOf(row, 'issue')
  if (pause === null || pause.state === 'open') return done()
  const status = await writeStatus(context, pause, number)
  if (!status.ok) return status.code === 'not_found' ? done() : failedCall(status)
  const isApproved = pause.items.every(item => item.resolution?.outcome === 'approved')
  const closed = await github.closeIssue(number, isApproved ? 'completed' : 'not_planned')
  return closed.ok || closed.code === 'not_found' ? done() : failedCall(closed)
}

/** Opens an issue again that somebody closed who may not cancel; the status comment says why. */
export async function reopenIssue(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const { github, store } = context
  const pause = store.pause(textOf(row, 'pause'))
  if (pause === null || pause.state === 'resolved') return done()
  const opened = await github.reopenIssue(numberOf(row, 'issue'))
  if (!opened.ok) return opened.code === 'not_found' ? done() : failedCall(opened)
  store.addOutbox(statusRow({ run: pause.run, pause: pause.pause }, row.id))
  return done()
}

/** A pull request's people find the issue by one comment. */
export async function pullComment(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const { store } = context
  const pause = store.pause(textOf(row, 'pause'))
  const record = pause === null ? null : store.record(pause.run)
  const pull = record?.instance?.pullRequest ?? null
  if (pause === null || pause.issue === null || pull === null) return done()
  const body = `${marker('reply', `pull-${pause.pause}`)}\nA run of this pull request waits for a decision: [issue #${pause.issue.number}](${pause.issue.url}).`
  return commentOnce(context, row, pull, body)
}
