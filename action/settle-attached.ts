import { remoteLedger } from '../ledger/remote.ts'
import type { CallContext } from '../ledger/remote-call.ts'
import type { AttachAnswer } from '../ledger/wire.ts'
import type { RunState } from '../policy/states.ts'
import { ownFetch } from '../runner/network/own.ts'
import { attach, attachRequest, nothingToSettle, type TokenSource } from './attach.ts'
import { ActionError } from './failure.ts'
import { openApprovalIssue } from './pause.ts'
import { type PostContext, type Settled, secretsOfRun } from './post-context.ts'
import { settleRun } from './settle-run.ts'

/** A snapshot may be larger than GitHub's answers are. */
const answerBytes = 67_108_864
/** For one call with its repetitions, and for the issue: the post step has 10 s in all. */
const callBudgetMs = 4_000

/** Settles this instance's run under its control plane: attaches as main did, with a fresh OIDC token. Throws LedgerError. */
export async function settleAttached(
  context: PostContext,
  source: TokenSource,
  { document, asker }: { document: string; asker: string },
): Promise<Settled> {
  const { inputs, job, environment, clock, signal, guard } = context
  const origins = [source.audience, source.url, job.apiUrl]
  const fetch = ownFetch({ origins, environment, maxResponseBytes: answerBytes })
  const calls: CallContext = { fetch, clock, signal, budgetMs: callBudgetMs }
  const asked = attachRequest(inputs, job, document, { sha: job.sha, head: null })
  const answer = await attachAgain(calls, source, { ...asked, settings: {}, asker, settling: true })
  if (answer === null) return { run: null, state: null, messages: ['nothing was recorded: no effect had begun'] }
  guard.learn([answer.lease?.token])
  if (answer.lease !== null) {
    const held = { answer, token: answer.lease.token }
    if (answer.outcome === 'resume') return settleRunning(context, calls, source, held)
    if (answer.outcome === 'pending') return openIssueOf(context, calls, source, held)
  }
  const state = (answer.recorded?.state ?? null) as RunState | null
  return { run: answer.run, state, messages: answer.recorded === null ? [] : [answer.recorded.message] }
}

/** null where main had not come as far as a run. */
async function attachAgain(
  calls: CallContext,
  source: TokenSource,
  request: Parameters<typeof attach>[2],
): Promise<AttachAnswer | null> {
  try {
    return await attach(calls, source, request)
  } catch (error) {
    if (error instanceof ActionError && error.code === nothingToSettle) return null
    throw error
  }
}

type Held = { answer: AttachAnswer; token: string }

async function settleRunning(
  { ids, environment, guard }: PostContext,
  calls: CallContext,
  { audience }: TokenSource,
  { answer, token }: Held,
): Promise<Settled> {
  const { run, epoch, repository } = answer
  const ledger = remoteLedger({
    ...calls,
    origin: audience,
    owner: repository.owner,
    repo: repository.name,
    run,
    token,
  })
  try {
    const snapshot = await ledger.snapshot(run)
    if (snapshot === null) return { run, state: null, messages: [] }
    guard.learn(secretsOfRun(snapshot, environment))
    const { state, messages } = await settleRun(ledger, ids, { snapshot, epoch }, 'release')
    const goesOn = ['nothing was under way: re-run this job and the run goes on where it stood']
    return { run, state, messages: state === 'running' ? goesOn : messages }
  } finally {
    await ledger.close()
  }
}

/** The same as main does after a pause; what was opened before is found again. */
async function openIssueOf(
  { job, inputs, signal }: PostContext,
  calls: CallContext,
  { audience }: TokenSource,
  { answer, token }: Held,
): Promise<Settled> {
  const { owner, name } = answer.repository
  const url = `${audience}/v1/repos/${owner}/${name}/runs/${answer.run}`
  const github = { ...job, token: inputs['github-token'], fetch: calls.fetch, signal, budgetMs: callBudgetMs }
  const opened = await openApprovalIssue(calls, github, { url, token })
  const message = opened.ok
    ? `${opened.found ? 'found' : 'opened'} approval issue #${opened.number}: decide in ${opened.url}`
    : `${opened.message}. The pause is recorded: decide it at ${answer.auditUrl} or with \`agentctl approvals\``
  return { run: answer.run, state: 'paused', messages: [message] }
}
