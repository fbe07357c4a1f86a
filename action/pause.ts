import { type CallContext, call, json } from '../ledger/remote-call.ts'
import { pauseIssueSchema, registrationAnswerSchema } from '../ledger/wire.ts'
import { type IssueContext, type IssueResult, openIssue } from './issue.ts'

/** Where the paused run stands on the control plane, and the lease token that it paused under. */
export interface PausedRun {
  /** `https://HOST/v1/repos/OWNER/REPO/runs/ID`. */
  url: string
  token: string
}

/**
 * Opens and registers the issue of a paused run: the control plane says what it must read, the job opens it, the control
 * plane reads it back. Each step may be repeated after a crash. A refusal of GitHub is a result: the pause stays
 * recorded and can be decided by page, API and command line. Throws LedgerError where the control plane does not answer.
 */
export async function openApprovalIssue(
  context: CallContext,
  github: IssueContext,
  { url, token }: PausedRun,
): Promise<IssueResult> {
  const authorization = () => `Bearer ${token}`
  const reading = 'reading what the approval issue must say'
  const issue = await json(
    await call(context, { method: 'GET', url: `${url}/pause`, authorization, doing: reading }),
    pauseIssueSchema,
    reading,
  )
  if (issue.registered !== null) return { ok: true, ...issue.registered, found: true }
  const opened = await openIssue(github, issue)
  if (!opened.ok) return opened
  const doing = `registering issue #${opened.number}`
  const body = new TextEncoder().encode(JSON.stringify({ pause: issue.pause, issue: opened.number }))
  const response = await call(context, {
    method: 'POST',
    url: `${url}/registration`,
    authorization,
    body: { type: 'application/json', bytes: body },
    doing,
    remedies: {
      unreachable: 'the pause is recorded; re-run the job when the control plane is up, the same issue is used',
    },
  })
  const registered = await json(response, registrationAnswerSchema, doing)
  return { ok: true, number: registered.number, url: registered.url, found: opened.found || registered.superseded }
}
