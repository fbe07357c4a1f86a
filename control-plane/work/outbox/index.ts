import type { OutboxRow } from '../../../ledger/index.ts'
import { describeError } from '../../../policy/redact.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { later, retryTime } from '../backoff.ts'
import { redispatch } from '../redispatch/redispatch.ts'
import { type RowKind, rowKinds, statusRow } from '../rows.ts'
import { commitStatus } from './commit-status.ts'
import { announce, runEnded } from './ends.ts'
import { reaction, reply } from './feedback.ts'
import { closeIssue, pullComment, reopenIssue } from './issue-state.ts'
import { done, failed, type Outcome } from './outcome.ts'
import { reconcile } from './reconcile.ts'
import { replacement } from './replacement.ts'
import { statusComment } from './status-comment.ts'
import { strayIssues } from './stray-issues.ts'

const handlers: { [Kind in RowKind]: (context: RepositoryContext, row: OutboxRow) => Promise<Outcome> } = {
  redispatch,
  'run-ended': runEnded,
  reaction,
  reply,
  status: statusComment,
  'commit-status': commitStatus,
  'pull-comment': pullComment,
  'close-issue': closeIssue,
  'reopen-issue': reopenIssue,
  'stray-issues': strayIssues,
  replacement,
  'login-bound': async () => done(),
  reconcile,
}

/** One try at one row, its outcome recorded. Nothing that a try throws stops the others. */
export async function workOutbox(context: RepositoryContext, row: OutboxRow): Promise<void> {
  const { store, log } = context
  if (row.kind === 'redispatch' || row.kind === 'run-ended') announce(context, row)
  const outcome = await attempt(context, row)
  switch (outcome.kind) {
    case 'done':
      return store.finishOutbox(row.id, outcome.data)
    case 'wait':
      return store.deferOutbox(row.id, outcome.until, outcome.data)
    case 'failed': {
      const isDead = row.attempts + 1 >= outcome.limit
      const retryAt = isDead ? null : later(retryTime(context, row.attempts), outcome.notBefore)
      store.failOutbox(row.id, outcome.error, retryAt, outcome.data)
      if (isDead) {
        log.error('outbox.dead', { row: row.id, message: outcome.error })
        sayDead(context, row)
      }
    }
  }
}

async function attempt(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const kind = rowKinds.find(known => known === row.kind)
  if (kind === undefined) return failed(`no work is known for rows of kind ${row.kind}`)
  try {
    return await handlers[kind](context, row)
  } catch (error) {
    return failed(describeError(error))
  }
}

/** A dead letter gets its line in the issue, by way of the status comment. */
function sayDead({ store, ids }: RepositoryContext, row: OutboxRow): void {
  const pause = row.payload['pause']
  if (row.run === null || row.kind === 'status') return
  const shownOn = typeof pause === 'string' ? pause : store.pauses(row.run).at(-1)?.pause
  if (shownOn !== undefined) store.addOutbox(statusRow({ run: row.run, pause: shownOn }, `dead-${ids.uuid()}`))
}
