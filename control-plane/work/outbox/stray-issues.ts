import type { OutboxRow } from '../../../ledger/index.ts'
import type { PauseRecord } from '../../../ledger/port.ts'
import { marker, markerOf } from '../../../policy/approval/index.ts'
import type { Issue, Result } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { inMs } from '../backoff.ts'
import { textOf } from '../rows.ts'
import { done, failedCall, type Outcome } from './outcome.ts'

/** Closes, with a link, every other open issue that claims to be about a pause: a forged one, or one too many. */
export async function strayIssues(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const pause = context.store.pause(textOf(row, 'pause'))
  if (pause === null || pause.issue === null) return done()
  const issues = await issuesOf(context, pause)
  if (!issues.ok) return failedCall(issues)
  for (const issue of issues.value) {
    const registered = context.store.pause(pause.pause)?.issue ?? null
    if (registered === null || issue.number === registered.number || issue.state === 'closed') continue
    const closed = await closeWithLink(context, issue.number, `stray-${pause.pause}`, registered)
    if (!closed.ok && closed.code !== 'not_found') return failedCall(closed)
  }
  return done()
}

/** Issues that carry a pause's marker, oldest first, whoever wrote them. */
export async function issuesOf({ github }: RepositoryContext, pause: PauseRecord): Promise<Result<Issue[]>> {
  // A minute back, for a clock that differs from GitHub's.
  const since = inMs({ now: () => new Date(pause.createdAt) }, -60_000)
  const issues = await github.issuesSince(since)
  if (!issues.ok) return issues
  const marked = issues.value.filter(issue => markerOf('pause', issue.body) === pause.pause)
  return { ok: true, value: marked.sort((left, right) => left.number - right.number) }
}

/** Says on an issue which one counts, and closes it. */
export async function closeWithLink(
  { github }: RepositoryContext,
  issue: number,
  sign: string,
  registered: { number: number; url: string },
): Promise<Result<unknown>> {
  const body = `${marker('reply', sign)}\nThis issue does not count: decisions are made on [issue #${registered.number}](${registered.url}).`
  const said = await github.createComment(issue, body)
  return said.ok ? github.closeIssue(issue, 'not_planned') : said
}
