import { LedgerError } from '../ledger/port.ts'
import { type RemoteLedger, remoteLedger } from '../ledger/remote.ts'
import type { CallContext } from '../ledger/remote-call.ts'
import type { AttachAnswer } from '../ledger/wire.ts'
import type { Commit } from '../policy/approval/record.ts'
import type { Floor } from '../policy/decision/index.ts'
import type { Json } from '../policy/json.ts'
import { hostFloorRecord } from '../runner/facts/host-floor.ts'
import { type RunOutcome, readCommit, resumeRun, startRun } from '../runner/index.ts'
import { ownFetch } from '../runner/network/own.ts'
import { attach, attachRequest, type TokenSource } from './attach.ts'
import { warnOfLocalChanges } from './checkout.ts'
import type { ActionContext } from './context.ts'
import { type LoadedDocument, loadDocument } from './document.ts'
import { describeFailure, exits } from './failure.ts'
import { checkRepository, effectiveFloor, type HostFloor, readInputFloor, tightened } from './floor.ts'
import { type Outcome, recordedOutcome, statusOf } from './outcome.ts'
import { openApprovalIssue } from './pause.ts'
import { planOf, portsFor, resumable } from './prepare.ts'

/** A snapshot or a blob may be larger than GitHub's answers are. */
const ledgerAnswerBytes = 67_108_864

/** One job that has attached: what it runs, under which floor, and where it is recorded. */
interface Session {
  context: ActionContext
  loaded: LoadedDocument
  commit: Commit
  answer: AttachAnswer
  floor: Floor | null
  host: HostFloor
}

/** Runs under a control plane: attach, then what the attempt table of 04 says for this instance. */
export async function runAttached(context: ActionContext, source: TokenSource, host: HostFloor): Promise<Outcome> {
  const { inputs, job, environment, clock, signal, guard, log } = context
  const loaded = loadDocument(inputs, job.checkout)
  const inputFloor = readInputFloor(job.checkout, inputs.floor)
  const localFloor = effectiveFloor(null, inputFloor, host)
  const commit = readCommit(loaded.workspace, job.sha)

  const origins = [source.audience, source.url, job.apiUrl]
  const calls = { fetch: ownFetch({ origins, environment, maxResponseBytes: ledgerAnswerBytes }), clock }
  const asker = context.ids.uuid()
  const hostFloor = hostFloorRecord(host.state === 'installed' ? host.floor : null, host.state !== 'not readable')
  const request = { ...attachRequest(inputs, job, loaded.path, commit), asker, hostFloor }
  const settings = tightened(request.settings, localFloor)
  context.state.begin(loaded.path, asker)
  const answer = await attach({ ...calls, signal }, source, { ...request, settings })
  context.state.hold(answer.run)
  guard.learn([answer.lease?.token])
  log.line(`run ${answer.run}: ${answer.outcome}`)
  if (answer.lease === null) return recordedOutcome(answer)

  const floor = effectiveFloor(answer.floor as Json, inputFloor, host)
  const session = { context, loaded, commit, answer, floor, host }
  const { owner, name: repo } = answer.repository
  const ledger = remoteLedger({
    ...calls,
    origin: source.audience,
    owner,
    repo,
    run: answer.run,
    token: answer.lease.token,
  })
  try {
    const outcome = await work(session, ledger)
    if (outcome.status !== 'paused' || outcome.issue !== null) return outcome
    const url = `${source.audience}/v1/repos/${owner}/${repo}/runs/${answer.run}`
    return await withIssue({ ...calls, signal }, session, outcome, { url, token: ledger.token() }).catch(thrown =>
      unregistered(outcome, thrown, signal),
    )
  } finally {
    await ledger.close()
  }
}

async function work(session: Session, ledger: RemoteLedger): Promise<Outcome> {
  switch (session.answer.outcome) {
    case 'new':
      return startNew(session, ledger)
    case 'resume':
      return resume(session, ledger)
    default:
      return recordedOutcome(session.answer)
  }
}

async function startNew(
  { context, loaded, commit, answer, floor, host }: Session,
  ledger: RemoteLedger,
): Promise<Outcome> {
  const plan = await planOf(context, loaded, floor)
  checkRepository(floor, plan, context.job)
  await warnOfLocalChanges(context, plan)
  const ended = await startRun(portsFor(context, loaded, ledger, { effective: floor, host }, null), {
    run: answer.run,
    epoch: answer.epoch,
    plan,
    document: loaded.path,
    commit,
    settings: answer.settings,
    resumeWith: context.inputs['resume-with'],
    parent: answer.parent,
  })
  return outcomeOf(answer, ended, plan.planDigest)
}

async function resume(session: Session, ledger: RemoteLedger): Promise<Outcome> {
  const { context, loaded, commit, answer, floor, host } = session
  const known = await resumable(context, loaded, ledger, answer.run, floor)
  const ended = await resumeRun(portsFor(context, loaded, known, { effective: floor, host }, null), {
    run: answer.run,
    epoch: answer.epoch,
    commit,
    workflowDigest: loaded.digest,
    parent: answer.parent,
    ...(floor?.expiresAfter !== undefined && { expiresWithinSeconds: floor.expiresAfter }),
  })
  return outcomeOf(answer, ended, answer.recorded?.planDigest ?? null)
}

function outcomeOf(answer: AttachAnswer, ended: RunOutcome, planDigest: string | null): Outcome {
  const { run, exitCode, outputs, pause, head, messages, state } = ended
  const issue = pause?.issue ?? null
  return {
    status: statusOf(state),
    exitCode,
    run,
    planDigest,
    outputs,
    pause,
    issue,
    auditUrl: answer.auditUrl,
    head,
    messages,
    concluded: state !== 'running',
  }
}

/** The control plane went away between the pause and its issue: red, but the run and its pause are told all the same. */
function unregistered(outcome: Outcome, thrown: unknown, signal: AbortSignal): Outcome {
  if (signal.aborted) return interrupted(outcome)
  if (!(thrown instanceof LedgerError)) throw thrown
  const { exitCode, code, message } = describeFailure(thrown)
  const messages = [...outcome.messages, `${code}: ${message}`]
  return { ...outcome, status: 'failed', exitCode, messages, concluded: false }
}

/** Cancelled between the pause and its issue: the pause is what is recorded, the post step opens its issue. */
function interrupted(outcome: Outcome): Outcome {
  const message = 'Cancelled while the approval issue was opened: the pause is recorded.'
  return { ...outcome, exitCode: exits.cancelled, messages: [...outcome.messages, message], concluded: false }
}

/** Asks people. What GitHub refuses is said and annotated; the pause stands all the same. */
async function withIssue(
  calls: CallContext,
  { context, answer }: Session,
  outcome: Outcome,
  paused: { url: string; token: string },
): Promise<Outcome> {
  const { job, inputs, log, annotations, signal } = context
  const github = { ...job, token: inputs['github-token'], fetch: calls.fetch, signal }
  const opened = await openApprovalIssue(calls, github, paused)
  if (opened.ok) {
    log.line(`${opened.found ? 'found' : 'opened'} approval issue #${opened.number}`)
    return { ...outcome, issue: { number: opened.number, url: opened.url } }
  }
  if (signal.aborted) return interrupted(outcome)
  const message = `${opened.message}. The pause is recorded: decide it at ${answer.auditUrl} or with \`agentctl approvals\`, or re-run this job to open the issue`
  annotations.add({ level: 'error', title: opened.code, message })
  return { ...outcome, messages: [...outcome.messages, message] }
}
