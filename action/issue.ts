import { setTimeout as sleep } from 'node:timers/promises'
import type { Octokit } from '@octokit/rest'
import { retryAfter } from '../ledger/remote-call.ts'
import type { PauseIssue } from '../ledger/wire.ts'
import { bodyDigest } from '../policy/approval/markers.ts'

/** Where issues are opened, with the job's token. */
export interface IssueContext {
  apiUrl: string
  token: string
  owner: string
  repo: string
  fetch: typeof fetch
  signal: AbortSignal
  /** Whole milliseconds for all tries. Default 60,000. */
  budgetMs?: number
}

export type IssueResult =
  | { ok: true; number: number; url: string; found: boolean }
  | { ok: false; code: IssueFault; message: string }
export type IssueFault =
  | 'issues_disabled'
  | 'archived'
  | 'missing_permission'
  | 'rate_limited'
  | 'github_unreachable'
  | 'refused'

/** Pages of 100 open issues of ours that are looked through for one that a crash left behind. */
const pagesSearched = 3
/** Longest wait that a rate limit may ask for while a runner stands by. */
const longestWaitMs = 30_000

/**
 * Opens the approval issue, once: before every try it looks for an open one with exactly this pause's body by
 * github-actions[bot], so that neither a crash nor a lost answer opens a second. `refused` are issues that the control
 * plane does not register. The pause itself stands in the ledger whatever comes of it.
 */
export async function openIssue(
  context: IssueContext,
  issue: PauseIssue,
  refused: ReadonlySet<number> = new Set(),
): Promise<IssueResult> {
  const octokit = await clientFor(context)
  const repository = { owner: context.owner, repo: context.repo }
  const deadline = performance.now() + (context.budgetMs ?? 60_000)
  for (let pause = 500; ; pause *= 2) {
    try {
      const existing = await findOpened(octokit, repository, issue, refused)
      if (existing !== null) return { ok: true, ...existing, found: true }
      const { title, body, labels } = issue
      const { data } = await octokit.rest.issues.create({ ...repository, title, body, labels })
      return { ok: true, number: data.number, url: data.html_url, found: false }
    } catch (error) {
      const fault = faultOf(error)
      const wait = Math.max(fault.waitMs, pause * (0.5 + Math.random() / 2))
      const spent = performance.now() + wait > deadline
      if (!fault.passing || spent || context.signal.aborted)
        return { ok: false, code: fault.code, message: fault.message }
      await sleep(wait, undefined, { signal: context.signal }).catch(() => {})
    }
  }
}

async function clientFor({ apiUrl, token, fetch, signal }: IssueContext): Promise<Octokit> {
  const { Octokit } = await import('@octokit/rest')
  const silent = () => {}
  return new Octokit({
    auth: token,
    baseUrl: apiUrl,
    userAgent: 'agentctl',
    log: { debug: silent, info: silent, warn: silent, error: silent },
    request: { fetch, signal },
  })
}

async function findOpened(
  octokit: Octokit,
  repository: { owner: string; repo: string },
  issue: PauseIssue,
  refused: ReadonlySet<number>,
): Promise<{ number: number; url: string } | null> {
  for (let page = 1; page <= pagesSearched; page++) {
    const { data } = await octokit.rest.issues.listForRepo({
      ...repository,
      state: 'open',
      creator: 'github-actions[bot]',
      sort: 'created',
      direction: 'desc',
      per_page: 100,
      page,
    })
    // Another workflow's issue with our marker has the same author: only the whole body tells ours.
    const ours = data.filter(
      candidate =>
        candidate.pull_request === undefined &&
        candidate.user?.login === 'github-actions[bot]' &&
        candidate.user.type === 'Bot' &&
        bodyDigest(candidate.body ?? '') === issue.bodyDigest &&
        !refused.has(candidate.number),
    )
    // The oldest one: another attempt that looked at the same time comes to the same.
    const first = ours.at(-1)
    if (first !== undefined) return { number: first.number, url: first.html_url }
    if (data.length < 100) return null
  }
  return null
}

interface Fault {
  code: IssueFault
  message: string
  passing: boolean
  waitMs: number
}

/** GitHub's refusal by status and its documented words, each with what to change. */
function faultOf(error: unknown): Fault {
  const lasting = (code: IssueFault, message: string): Fault => ({ code, message, passing: false, waitMs: 0 })
  const answer = answerOf(error)
  if (answer === null) {
    const message = error instanceof Error ? error.message : String(error)
    const passing = !causes(error).some(cause => 'retryable' in cause && cause.retryable === false)
    return { code: 'github_unreachable', message: `the issue could not be opened: ${message}`, passing, waitMs: 0 }
  }
  const { status, text, headers } = answer
  if (status === 410 || /issues (are|has been) disabled/i.test(text))
    return lasting('issues_disabled', 'issues are disabled in this repository; enable them in its settings')
  if (/archived/i.test(text)) return lasting('archived', 'the repository is archived and takes no issues; unarchive it')
  if (status === 429 || /rate limit/i.test(text) || headers['x-ratelimit-remaining'] === '0')
    return rateLimited(headers)
  if (status === 403 || status === 404 || status === 401)
    return lasting(
      'missing_permission',
      `the job's token may not open issues (${status}); add to the job: \`permissions: { contents: read, id-token: write, issues: write }\``,
    )
  if (status >= 500)
    return { code: 'github_unreachable', message: `GitHub answered ${status}`, passing: true, waitMs: 0 }
  return lasting('refused', `GitHub refused the issue (${status}): ${text}`)
}

function rateLimited(headers: Headers): Fault {
  const reset = Number(headers['x-ratelimit-reset'] ?? 0) * 1000
  const asked = retryAfter(headers['retry-after'] ?? null, new Date()) || Math.max(0, reset - Date.now()) || 1_000
  return {
    code: 'rate_limited',
    message: `GitHub limits the rate of this token for another ${Math.ceil(asked / 1000)} s; re-run the job after that`,
    passing: asked <= longestWaitMs,
    waitMs: asked,
  }
}

type Headers = { readonly [name: string]: string | undefined }

function answerOf(error: unknown): { status: number; text: string; headers: Headers } | null {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return null
  if (!('response' in error) || typeof error.response !== 'object' || error.response === null) return null
  const headers = 'headers' in error.response ? (error.response.headers as Headers) : {}
  return { status: error.status, text: error.message, headers }
}

function causes(error: unknown): Error[] {
  const chain: Error[] = []
  for (let current = error; current instanceof Error && chain.length < 8; current = current.cause) chain.push(current)
  return chain
}
