import type { OutboxRow } from '../../../ledger/index.ts'
import { parseComment } from '../../../policy/approval/index.ts'
import type { JsonObject } from '../../../policy/json.ts'
import type { Account, IssueComment } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { inMs } from '../backoff.ts'
import { textOf } from '../rows.ts'
import { done, failedCall, type Outcome, wait } from './outcome.ts'

const everyMs = 3_600_000
/** Comments are asked for from this much before the last pass, for clocks and lists that lag. */
const overlapMs = 5 * 60_000

/**
 * Finds comments whose deliveries were lost: one list of the repository's comments, hourly while a pause is open. What it
 * finds goes through the inbox, so a comment that was delivered too is worked on once.
 */
export async function reconcile(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const { store, github, clock } = context
  const open = store.openPauses().filter(pause => pause.issue !== null)
  if (open.length === 0) return done()
  const start = clock.now().toISOString()
  const since = textOf(row, 'since') || (open[0]?.createdAt ?? start)
  const comments = await github.commentsSince(since)
  if (!comments.ok) return failedCall(comments)
  const self = await github.self()
  if (!self.ok) return failedCall(self)
  for (const comment of comments.value) {
    if (comment.author.id === self.value.id || parseComment(comment.body) === null) continue
    const pause = store.pauseByIssue(comment.issue)
    if (pause?.issue) store.addInbox(asDelivery(comment, pause.issue.id, start))
  }
  // A full list may have been cut: go on from where it ended.
  const last =
    comments.value.length >= 1000
      ? comments.value
          .map(({ updatedAt }) => updatedAt)
          .sort()
          .at(-1)
      : undefined
  if (last !== undefined && last > since) return wait(start, { since: last })
  return wait(inMs(clock, everyMs), { since: inMs({ now: () => new Date(start) }, -overlapMs) })
}

/** The inbox row that the lost delivery would have been; `reconciled` makes it count only if never edited. */
function asDelivery(comment: IssueComment, issueId: number, receivedAt: string) {
  const account = ({ id, login, type }: Account): JsonObject => ({ id, login, type })
  const payload: JsonObject = {
    action: 'created',
    reconciled: true,
    sender: account(comment.author),
    issue: {
      id: issueId,
      number: comment.issue,
      nodeId: null,
      state: 'open',
      user: null,
      isPullRequest: false,
      marker: null,
    },
    comment: {
      id: comment.id,
      nodeId: comment.nodeId,
      body: comment.body.length > 8192 ? null : comment.body,
      user: account(comment.author),
      createdAt: comment.createdAt,
      viaApp: comment.viaApp,
    },
  }
  return {
    delivery: `reconciled-${comment.id}`,
    event: 'issue_comment',
    action: 'created',
    comment: comment.id,
    payload,
    receivedAt,
  }
}
