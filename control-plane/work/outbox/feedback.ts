import type { OutboxRow } from '../../../ledger/index.ts'
import { markerOf } from '../../../policy/approval/index.ts'
import type { ReactionContent } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { inMs } from '../backoff.ts'
import { numberOf, textOf } from '../rows.ts'
import { done, failedCall, type Outcome } from './outcome.ts'

const crashMs = 60_000

/** A reaction; the same one twice is one. A comment that is gone needs none. */
export async function reaction({ github }: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const answer = await github.react(numberOf(row, 'comment'), textOf(row, 'content') as ReactionContent)
  return answer.ok || answer.code === 'not_found' ? done() : failedCall(answer)
}

/** The one reply that a person gets on a pause, written once: looked for by its marker where an earlier try may have got through. */
export async function reply(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const body = textOf(row, 'body')
  return commentOnce(context, row, numberOf(row, 'issue'), body)
}

/** Writes a comment unless an earlier try at this row already did; its first line is a reply marker. */
export async function commentOnce(
  context: RepositoryContext,
  row: OutboxRow,
  issue: number,
  body: string,
): Promise<Outcome> {
  const { github, store, clock } = context
  const sign = markerOf('reply', body)
  if (textOf(row, 'triedAt') !== '') {
    const written = await github.issueComments(issue, textOf(row, 'triedAt'))
    if (!written.ok) return written.code === 'not_found' ? done() : failedCall(written)
    const self = await github.self()
    if (!self.ok) return failedCall(self)
    const isWritten = written.value.some(
      comment => comment.author.id === self.value.id && markerOf('reply', comment.body) === sign,
    )
    if (isWritten) return done()
  } else {
    // A minute back, for a clock that differs from GitHub's.
    store.deferOutbox(row.id, inMs(clock, crashMs), { triedAt: inMs(clock, -crashMs) })
  }
  const answer = await github.createComment(issue, body)
  return answer.ok || answer.code === 'not_found' ? done() : failedCall(answer)
}
