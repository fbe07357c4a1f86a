import type { InboxRow } from '../../../ledger/index.ts'
import { describeError } from '../../../policy/redact.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import type { EventPayload } from '../../webhooks/events.ts'
import { later, retryTime } from '../backoff.ts'
import { type CommentPayload, workComment } from './comment.ts'
import { workIssue } from './issue.ts'
import { again, done, type InboxOutcome } from './outcome.ts'
import { workWorkflowRun } from './workflow-run.ts'

/** Hours of trying: after that nobody waits for an answer any more. */
const tries = 24

/** One try at one delivery. It is done only after what it led to is committed; a failed one is tried again. */
export async function workInbox(context: RepositoryContext, row: InboxRow): Promise<void> {
  const { store, log } = context
  const outcome = await attempt(context, row)
  if (outcome.kind === 'done') return store.doneInbox(row.delivery, outcome.outcome)
  if (row.attempts + 1 >= tries) {
    log.error('inbox.given_up', { delivery: row.delivery, message: outcome.error })
    return store.doneInbox(row.delivery, `given up: ${outcome.error}`.slice(0, 500))
  }
  store.failInbox(row.delivery, outcome.error, later(retryTime(context, row.attempts), outcome.notBefore))
}

async function attempt(context: RepositoryContext, row: InboxRow): Promise<InboxOutcome> {
  // The payload was made by the event's schema when it was delivered.
  const payload: unknown = row.payload
  try {
    switch (row.event) {
      case 'issue_comment':
        return await workComment(context, row.action, payload as CommentPayload)
      case 'issues':
        return await workIssue(context, row.action, payload as EventPayload<'issues'>)
      case 'workflow_run':
        return workWorkflowRun(context, payload as EventPayload<'workflow_run'>)
      default:
        return done('noted')
    }
  } catch (error) {
    return again(describeError(error))
  }
}
