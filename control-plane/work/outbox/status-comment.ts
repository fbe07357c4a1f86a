import type { LedgerStore, OutboxRow } from '../../../ledger/index.ts'
import type { PauseRecord } from '../../../ledger/port.ts'
import { markerOf, renderStatusComment } from '../../../policy/approval/index.ts'
import { type Result, success } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { instanceUrl, pageUrl } from '../addresses.ts'
import { notesOf } from '../notes.ts'
import { textOf } from '../rows.ts'
import { done, failedCall, type Outcome } from './outcome.ts'

/** The status comment as last written by this process; another one finds it by its marker. */
const written = new WeakMap<LedgerStore, Map<string, { comment: number; body: string }>>()

/** Brings the one status comment of a pause up to date; many changes at once are one edit. */
export async function statusComment(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const pause = context.store.pause(textOf(row, 'pause'))
  if (pause === null || pause.issue === null) return done()
  const answer = await writeStatus(context, pause, pause.issue.number)
  return answer.ok || answer.code === 'not_found' ? done() : failedCall(answer)
}

/** Renders from the ledger and writes where that is not what stands there; once more where the ledger changed meanwhile. */
export async function writeStatus(
  context: RepositoryContext,
  pause: PauseRecord,
  issue: number,
): Promise<Result<null>> {
  const known = written.get(context.store) ?? new Map<string, { comment: number; body: string }>()
  written.set(context.store, known)
  const key = `${pause.pause} ${issue}`
  for (;;) {
    const body = render(context, context.store.pause(pause.pause) ?? pause)
    const last = known.get(key) ?? null
    if (last?.body === body) return success(null)
    const comment =
      last === null ? await findOwn(context, pause, issue) : success({ id: last.comment, body: last.body })
    if (!comment.ok) return comment
    const answer =
      comment.value === null
        ? await context.github.createComment(issue, body)
        : comment.value.body === body
          ? success({ id: comment.value.id })
          : await context.github.updateComment(comment.value.id, body)
    if (!answer.ok) {
      known.delete(key)
      return answer
    }
    known.set(key, { comment: answer.value.id, body })
  }
}

async function findOwn(
  { github }: RepositoryContext,
  pause: PauseRecord,
  issue: number,
): Promise<Result<{ id: number; body: string } | null>> {
  const [self, comments] = await Promise.all([github.self(), github.issueComments(issue, pause.createdAt)])
  if (!self.ok) return self
  if (!comments.ok) return comments
  const own = comments.value.find(
    comment => comment.author.id === self.value.id && markerOf('status', comment.body) === pause.pause,
  )
  return success(own === undefined ? null : { id: own.id, body: own.body })
}

function render(context: RepositoryContext, pause: PauseRecord): string {
  const record = context.store.record(pause.run)
  return renderStatusComment({
    pause,
    votes: context.store.votes(pause.pause),
    pageUrl: pageUrl(context, pause.run),
    runUrl: record?.instance ? instanceUrl(context, pause.run, record.instance) : null,
    notes: notesOf(context, pause, record),
  })
}
