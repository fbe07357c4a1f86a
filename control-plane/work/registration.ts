import type { PauseRecord } from '../../ledger/port.ts'
import type { RegistrationAnswer } from '../../ledger/wire.ts'
import { bodyDigest } from '../../policy/approval/index.ts'
import type { Issue } from '../github/index.ts'
import { type Answer, answered, refused } from '../problem.ts'
import type { RepositoryContext } from '../repository/context.ts'
import { renderPause } from '../repository/issue.ts'
import { answerOf, githubProblem } from '../repository/refusals.ts'
import { issueAuthors } from './accounts.ts'
import { closeWithLink } from './outbox/stray-issues.ts'
import { commitStatusRow, pullCommentRow, reconcileRow, reconcileRowId, strayIssuesRow } from './rows.ts'

/**
 * Makes an issue the registered one of a pause, once it was read back and shows exactly what was rendered, by an author
 * who may open it, never edited. Where the pause has one already, that one counts and the other is closed with a link.
 */
export function verifyRegistration(
  context: RepositoryContext,
  run: string,
  pauseId: string,
  number: number,
): Promise<Answer<RegistrationAnswer>> {
  return flat(async () => {
    const pause = context.store.pause(pauseId)
    if (pause === null || pause.run !== run) return refused(404, 'not_found', 'this run has no such pause')
    if (pause.issue !== null) return registeredBefore(context, pause.issue, number)
    const read = await readBack(context, number)
    if (!read.ok) return read
    const fault = faultOf(context, pause, read.value)
    if (fault !== null) return refused(422, 'registration_refused', `issue #${number} cannot be registered: ${fault}`)

    // GitHub was asked meanwhile; what follows is one transaction of the ledger.
    const current = context.store.pause(pauseId)?.issue ?? null
    if (current !== null) return registeredBefore(context, current, number)
    register(context, pause, read.value.issue)
    return answered({ number, url: read.value.issue.url, superseded: false })
  })
}

interface ReadBack {
  issue: Issue
  editedAt: string | null | undefined
  authors: Set<number>
}

async function readBack(context: RepositoryContext, number: number): Promise<Answer<ReadBack>> {
  const { github, clock } = context
  const unknown = (failure: Parameters<typeof githubProblem>[0]) =>
    ({ ok: false, refusal: githubProblem(failure, `what issue #${number} shows`, clock.now()).refusal }) as const
  const [issue, authors] = await Promise.all([github.issue(number), issueAuthors(context)])
  if (!issue.ok) return unknown(issue)
  if (!authors.ok) return unknown(authors)
  const edits = await github.lastEditedAt([issue.value.nodeId])
  if (!edits.ok) return unknown(edits)
  return answered({ issue: issue.value, editedAt: edits.value[issue.value.nodeId], authors: authors.value.ids })
}

/** What speaks against an issue, null where nothing does; the remedy is the same for all: open it again. */
function faultOf(
  context: RepositoryContext,
  pause: PauseRecord,
  { issue, editedAt, authors }: ReadBack,
): string | null {
  const record = context.store.record(pause.run)
  if (record === null) return 'its run is not known here'
  const again = 'open a new issue with the title and body that GET .../pause gives'
  if (issue.isPullRequest) return `it is a pull request: ${again}`
  if (issue.state !== 'open') return `it is closed: ${again}`
  if (!authors.has(issue.author.id)) {
    return `its author ${issue.author.login} (${issue.author.id}) is neither github-actions[bot] nor our App: open it with the job's token`
  }
  if (editedAt === undefined) return `GitHub does not say whether it was edited: try again`
  if (editedAt !== null) return `it was edited at ${editedAt}: ${again}`
  const wanted = renderPause(context, record, pause).bodyDigest
  const shown = bodyDigest(issue.body)
  return shown === wanted ? null : `its body has digest ${shown}, rendered was ${wanted}: ${again}`
}

/** Commits the registration with everything that follows from it. */
export function register(context: RepositoryContext, pause: PauseRecord, issue: Issue): void {
  const of = { run: pause.run, pause: pause.pause }
  const cause = `registered-${issue.number}`
  context.store.control(
    {
      run: pause.run,
      commands: [
        {
          id: `register-${issue.number}`,
          type: 'pause.register',
          pause: pause.pause,
          issueNumber: issue.number,
          issueId: issue.id,
          issueUrl: issue.url,
          bodyDigest: bodyDigest(issue.body),
        },
      ],
    },
    'system',
    [commitStatusRow(of, cause), pullCommentRow(of), strayIssuesRow(of, cause)],
  )
  reconcileNow(context, pause.createdAt)
}

/** What was said before the issue was registered, or while no delivery came, is looked for at once. */
export function reconcileNow({ store, clock }: RepositoryContext, since: string): void {
  if (store.addOutbox(reconcileRow(since))) return
  const row = store.outbox(reconcileRowId)
  const before = row?.payload['since']
  const earliest = typeof before === 'string' && before < since && row?.state === 'due' ? before : since
  store.retryOutbox(reconcileRowId)
  store.deferOutbox(reconcileRowId, clock.now().toISOString(), { since: earliest })
}

async function registeredBefore(
  context: RepositoryContext,
  registered: { number: number; url: string },
  number: number,
): Promise<Answer<RegistrationAnswer>> {
  const superseded = registered.number !== number
  // Best effort at once; the row of stray issues does it where this fails.
  if (superseded) await closeWithLink(context, number, `stray-${number}`, registered)
  return answered({ number: registered.number, url: registered.url, superseded })
}

/** An answer of an answer as one. */
async function flat<T>(f: () => Promise<Answer<T>>): Promise<Answer<T>> {
  const outer = await answerOf(f)
  return outer.ok ? outer.value : outer
}
