import { LedgerError } from '../ledger/port.ts'
import { type CallContext, call, json } from '../ledger/remote-call.ts'
import {
  type PauseIssue,
  pauseIssueSchema,
  problemSchema,
  type RegistrationAnswer,
  registrationAnswerSchema,
} from '../ledger/wire.ts'
import { type IssueContext, type IssueResult, openIssue } from './issue.ts'

/** Where the paused run stands on the control plane, and the lease token that it paused under. */
export interface PausedRun {
  /** `https://HOST/v1/repos/OWNER/REPO/runs/ID`. */
  url: string
  token: string
}

/** Issues that may be refused before the job gives up: each was found by its body, yet does not count. */
const mostRefused = 5

/**
 * Opens and registers the issue of a paused run: the control plane says what it must read, the job opens it, the control
 * plane reads it back. Each step may be repeated after a crash; an issue that a crash left behind and that may not be
 * registered (somebody edited it) is passed over for a new one. A refusal of GitHub is a result: the pause stays recorded
 * and can be decided by page, API and command line. Throws LedgerError where the control plane does not answer.
 */
export async function openApprovalIssue(
  context: CallContext,
  github: IssueContext,
  paused: PausedRun,
): Promise<IssueResult> {
  const reading = 'reading what the approval issue must say'
  const authorization = () => `Bearer ${paused.token}`
  const issue = await json(
    await call(context, { method: 'GET', url: `${paused.url}/pause`, authorization, doing: reading }),
    pauseIssueSchema,
    reading,
  )
  if (issue.registered !== null) return { ok: true, ...issue.registered, found: true }
  const refused = new Set<number>()
  for (;;) {
    const opened = await openIssue(github, issue, refused)
    if (!opened.ok) return opened
    const answer = await register(context, paused, issue, opened.number)
    if (!('refusal' in answer))
      return { ok: true, number: answer.number, url: answer.url, found: opened.found || answer.superseded }
    refused.add(opened.number)
    if (refused.size >= mostRefused)
      throw new LedgerError('invalid', `${answer.refusal}; re-run the job to open another issue, the pause is recorded`)
  }
}

async function register(
  context: CallContext,
  { url, token }: PausedRun,
  { pause }: PauseIssue,
  number: number,
): Promise<RegistrationAnswer | { refusal: string }> {
  const doing = `registering issue #${number}`
  const response = await call(
    context,
    {
      method: 'POST',
      url: `${url}/registration`,
      authorization: () => `Bearer ${token}`,
      body: { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify({ pause, issue: number })) },
      doing,
      remedies: {
        unreachable: 'the pause is recorded; re-run the job when the control plane is up, the same issue is used',
      },
    },
    [422],
  )
  if (response.status !== 422) return json(response, registrationAnswerSchema, doing)
  const { title, detail = title } = await json(response, problemSchema, doing)
  return { refusal: `${doing}: ${detail}` }
}
