import type { OutboxRow } from '../../../ledger/index.ts'
import type { PauseRecord, RunRecord } from '../../../ledger/port.ts'
import { bodyDigest } from '../../../policy/approval/index.ts'
import { type Issue, type Result, success } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { renderPause } from '../../repository/issue.ts'
import { issueAuthors } from '../accounts.ts'
import { register } from '../registration.ts'
import { numberOf, statusRow, textOf } from '../rows.ts'
import { done, failed, failedCall, type Outcome } from './outcome.ts'
import { closeWithLink, issuesOf } from './stray-issues.ts'

/**
 * Opens an issue ourselves for a pause whose issue is void or was never registered, since no job runs that could; then the
 * void one is closed with a link. An issue that shows the right body already is registered instead of opening another.
 */
export async function replacement(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const { store } = context
  const pause = store.pause(textOf(row, 'pause'))
  const record = pause === null ? null : store.record(pause.run)
  if (pause === null || record === null || pause.state === 'resolved') return done()
  if (pause.issue === null) {
    const issue = await findOrOpen(context, pause, record)
    if (!issue.ok) return failedCall(issue)
    if (store.pause(pause.pause)?.issue === null) register(context, pause, issue.value)
    store.addOutbox(statusRow({ run: pause.run, pause: pause.pause }, row.id))
  }
  const registered = store.pause(pause.pause)?.issue ?? null
  if (registered === null) return failed('the new issue was not registered')
  const voided = numberOf(row, 'voided')
  const isGone = ['deleted', 'transferred', 'deleted or transferred'].includes(textOf(row, 'cause'))
  if (voided === 0 || isGone) return done()
  const closed = await closeWithLink(context, voided, `void-${voided}`, registered)
  return closed.ok || closed.code === 'not_found' ? done() : failedCall(closed)
}

async function findOrOpen(context: RepositoryContext, pause: PauseRecord, record: RunRecord): Promise<Result<Issue>> {
  const { github } = context
  const rendered = renderPause(context, record, pause)
  const [marked, authors] = await Promise.all([issuesOf(context, pause), issueAuthors(context)])
  if (!marked.ok) return marked
  if (!authors.ok) return authors
  const voided = voidedIssues(context, pause)
  const candidates = marked.value.filter(
    issue =>
      issue.state === 'open' &&
      !voided.has(issue.number) &&
      authors.value.ids.has(issue.author.id) &&
      bodyDigest(issue.body) === rendered.bodyDigest,
  )
  const edits = await github.lastEditedAt(candidates.map(issue => issue.nodeId))
  if (!edits.ok) return edits
  const untouched = candidates.find(issue => edits.value[issue.nodeId] === null)
  if (untouched !== undefined) return success(untouched)
  const opened = await github.createIssue({
    title: rendered.title,
    body: rendered.body,
    labels: record.settings.labels,
  })
  return opened
}

/** Issues of this pause that count no more, whatever they show now. */
function voidedIssues({ store }: RepositoryContext, pause: PauseRecord): Set<number> {
  const rows = store.outboxRows({ run: pause.run, limit: 1000 })
  return new Set(rows.filter(row => row.kind === 'replacement').map(row => numberOf(row, 'voided')))
}
