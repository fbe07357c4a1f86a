import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attach } from '../../action/attach.ts'
import { type IssueContext, openIssue } from '../../action/issue.ts'
import { openApprovalIssue } from '../../action/pause.ts'
import type { CallContext } from '../../ledger/remote-call.ts'
import type { AttachRequest } from '../../ledger/wire.ts'
import { bodyDigest } from '../../policy/approval/index.ts'
import { defaultApprovalSettings } from '../../policy/approval/record.ts'
import { ownFetch } from '../../runner/network/own.ts'
import { answer, bodyOf, type LocalServer, serve } from '../network/server.ts'

interface Issue {
  number: number
  body: string
  state: 'open' | 'closed'
  login: string
  pullRequest?: boolean
}
type Trouble = (request: IncomingMessage, response: ServerResponse) => void

/** GitHub, OIDC issuer and control plane on one port: each as small as these calls need. */
let server: LocalServer
let issues: Issue[]
let troubles: { [route: string]: Trouble[] }
let seen: { route: string; authorization: string }[]
let oidcTokens: number
let registered: { pause: string; issue: number } | null

const digest = 'd'.repeat(64)
const issueBody = '<!-- agentctl:pause=pause-1 -->\ntext'
const pauseIssue = () => ({
  pause: 'pause-1',
  title: 'Approve release',
  body: issueBody,
  labels: ['agentctl', 'approval'],
  bodyDigest: bodyDigest(issueBody),
})

beforeEach(async () => {
  issues = []
  troubles = {}
  seen = []
  oidcTokens = 0
  registered = null
  server = await serve(async (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const route = `${request.method} ${path}`
    seen.push({ route, authorization: request.headers.authorization ?? '' })
    const body = await bodyOf(request)
    const trouble = troubles[route]?.shift()
    if (route === 'POST /repos/org/repo/issues' && trouble?.name !== 'before') {
      const { body: text } = JSON.parse(body.toString()) as { body: string }
      if (trouble === undefined || trouble.name === 'after')
        issues.push({ number: issues.length + 1, body: text, state: 'open', login: 'github-actions[bot]' })
    }
    if (trouble !== undefined) return trouble(request, response)
    switch (route) {
      case 'GET /repos/org/repo/issues':
        return answer(
          response,
          200,
          issues
            .filter(issue => issue.state === 'open')
            .toReversed()
            .map(shown),
        )
      case 'POST /repos/org/repo/issues':
        return answer(response, 201, shown(issues.at(-1) as Issue))
      case 'GET /token':
        return answer(response, 200, { value: `oidc-${++oidcTokens}` })
      case 'POST /v1/attach':
        return answer(response, 200, attachAnswer)
      case 'GET /run/pause':
        return answer(response, 200, {
          ...pauseIssue(),
          registered: registered === null ? null : { number: registered.issue, url: link(registered.issue) },
        })
      case 'POST /run/registration':
        registered ??= JSON.parse(body.toString()) as { pause: string; issue: number }
        return answer(response, 200, { number: registered.issue, url: link(registered.issue), superseded: false })
      default:
        return answer(response, 404, { message: 'Not Found' })
    }
  })
})
afterEach(() => server.close())

const link = (number: number) => `https://github.example/org/repo/issues/${number}`
const shown = ({ number, body, state, login, pullRequest }: Issue) => ({
  number,
  body,
  state,
  html_url: link(number),
  user: { login, type: login.endsWith('[bot]') ? 'Bot' : 'User' },
  ...(pullRequest && { pull_request: {} }),
})
const attachAnswer = {
  outcome: 'pending',
  run: 'run-1',
  epoch: 1,
  lease: null,
  repository: { id: 1, owner: 'org', name: 'repo', isPublic: false },
  floor: null,
  floorDigest: null,
  settings: defaultApprovalSettings,
  parent: null,
  recorded: null,
  auditUrl: 'https://agentctl.example/run-1',
}

const fails =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Trouble =>
  (_, response) =>
    answer(response, status, body, headers)
const before = (_: IncomingMessage, response: ServerResponse) => answer(response, 502, {})
const after = (request: IncomingMessage) => void request.socket.destroy()

const fetch = () => ownFetch({ origins: [server.origin], environment: {} })
const calls = (): CallContext => ({ fetch: fetch(), clock: { now: () => new Date() }, backoffMs: 5, budgetMs: 2_000 })
const github = (more: Partial<IssueContext> = {}): IssueContext => ({
  apiUrl: server.origin,
  token: 'ghs_job',
  owner: 'org',
  repo: 'repo',
  fetch: fetch(),
  signal: new AbortController().signal,
  ...more,
})
const count = (route: string) => seen.filter(call => call.route === route).length

describe('opening the issue', () => {
  test('with the job’s token, once, with title, body and labels', async () => {
    const result = await openIssue(github(), { ...pauseIssue(), registered: null })
    expect(result).toEqual({ ok: true, number: 1, url: link(1), found: false })
    expect(issues.map(issue => issue.body)).toEqual([pauseIssue().body])
    expect(seen.every(call => call.authorization === 'token ghs_job')).toBe(true)
  })

  test('one that a crash left behind is used, the oldest of several', async () => {
    const mine = { body: pauseIssue().body, state: 'open' as const, login: 'github-actions[bot]' }
    issues = [
      { number: 1, ...mine },
      { number: 2, ...mine },
    ]
    const result = await openIssue(github(), { ...pauseIssue(), registered: null })
    expect(result).toMatchObject({ ok: true, number: 1, found: true })
    expect(issues).toHaveLength(2)
  })

  test.each<[string, Partial<Issue>]>([
    ['a person copied the marker', { login: 'mallory' }],
    ['another bot', { login: 'other[bot]' }],
    ['closed', { state: 'closed' }],
    ['a pull request', { pullRequest: true }],
    ['another pause', { body: issueBody.replace('pause-1', 'pause-2') }],
    ['another workflow wrote it round our marker', { body: `${issueBody}, and more` }],
  ])('not used: %s', async (_, difference) => {
    issues = [{ number: 1, body: pauseIssue().body, state: 'open', login: 'github-actions[bot]', ...difference }]
    const result = await openIssue(github(), { ...pauseIssue(), registered: null })
    expect(result).toMatchObject({ ok: true, number: 2, found: false })
  })

  test.each<[string, Trouble[]]>([
    ['a bad gateway before anything happened', [before, before]],
    ['the answer is lost after the issue was opened', [after]],
  ])('%s: still one issue', async (_, sequence) => {
    troubles['POST /repos/org/repo/issues'] = [...sequence]
    const result = await openIssue(github(), { ...pauseIssue(), registered: null })
    expect(result.ok).toBe(true)
    expect(issues).toHaveLength(1)
  })

  test('a short rate limit is waited for', async () => {
    troubles['POST /repos/org/repo/issues'] = [
      Object.defineProperty(fails(429, { message: 'secondary rate limit' }, { 'retry-after': '1' }), 'name', {
        value: 'before',
      }),
    ]
    expect(await openIssue(github(), { ...pauseIssue(), registered: null })).toMatchObject({ ok: true, number: 1 })
  })

  test('a cancel ends the wait for a rate limit at once', async () => {
    const cancel = new AbortController()
    const limited = fails(429, { message: 'secondary rate limit' }, { 'retry-after': '20' })
    const limit: Trouble = (request, response) => {
      // Long after the answer was read, long before the wait would end.
      response.on('close', () => setTimeout(() => cancel.abort(), 500))
      limited(request, response)
    }
    troubles['POST /repos/org/repo/issues'] = [Object.defineProperty(limit, 'name', { value: 'before' })]
    const began = performance.now()
    const result = await openIssue(github({ signal: cancel.signal }), { ...pauseIssue(), registered: null })
    expect(result).toMatchObject({ ok: false })
    expect(performance.now() - began).toBeLessThan(10_000)
    expect(issues).toEqual([])
  })

  test.each<[string, number, unknown, Record<string, string>, string, RegExp]>([
    [
      'issues disabled',
      410,
      { message: 'Issues has been disabled in this repository.' },
      {},
      'issues_disabled',
      /enable/,
    ],
    ['archived', 403, { message: 'Repository was archived so is read-only.' }, {}, 'archived', /unarchive/],
    [
      'missing permission',
      403,
      { message: 'Resource not accessible by integration' },
      {},
      'missing_permission',
      /permissions: \{.*issues: write/,
    ],
    ['invisible', 404, { message: 'Not Found' }, {}, 'missing_permission', /issues: write/],
    [
      'primary rate limit',
      403,
      { message: 'API rate limit exceeded' },
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4102444800' },
      'rate_limited',
      /re-run/,
    ],
    ['secondary rate limit', 429, { message: 'slow down' }, { 'retry-after': '600' }, 'rate_limited', /600 s/],
    ['invalid', 422, { message: 'Validation Failed' }, {}, 'refused', /Validation Failed/],
  ])('%s: a named fault with its remedy, at once', async (_, status, body, headers, code, text) => {
    troubles['POST /repos/org/repo/issues'] = [fails(status, body, headers)]
    const result = await openIssue(github(), { ...pauseIssue(), registered: null })
    expect(result).toMatchObject({ ok: false, code })
    expect(result.ok ? '' : result.message).toMatch(text)
    expect(count('POST /repos/org/repo/issues')).toBe(1)
  })

  test('GitHub stays down: a fault within the budget', async () => {
    troubles['GET /repos/org/repo/issues'] = Array.from({ length: 100 }, () => fails(503))
    const result = await openIssue(github({ budgetMs: 800 }), { ...pauseIssue(), registered: null })
    expect(result).toMatchObject({ ok: false, code: 'github_unreachable' })
  })
})

describe('the issue of a pause', () => {
  const paused = () => ({ url: `${server.origin}/run`, token: 'lease-1' })

  test('is read, opened and registered', async () => {
    expect(await openApprovalIssue(calls(), github(), paused())).toMatchObject({ ok: true, number: 1 })
    expect(registered).toEqual({ pause: 'pause-1', issue: 1 })
    expect(seen.filter(call => call.route.includes('/run/')).map(call => call.authorization)).toEqual([
      'Bearer lease-1',
      'Bearer lease-1',
    ])
  })

  test('registered before: nothing is opened', async () => {
    registered = { pause: 'pause-1', issue: 7 }
    expect(await openApprovalIssue(calls(), github(), paused())).toEqual({
      ok: true,
      number: 7,
      url: link(7),
      found: true,
    })
    expect(issues).toEqual([])
  })

  test('the control plane goes away between the steps: the next attempt registers the same issue', async () => {
    troubles['POST /run/registration'] = Array.from({ length: 1000 }, () => fails(503))
    const lost = openApprovalIssue({ ...calls(), budgetMs: 300 }, github(), paused())
    await expect(lost).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('the same issue is used'),
    })
    troubles = {}
    expect(await openApprovalIssue(calls(), github(), paused())).toMatchObject({ ok: true, number: 1, found: true })
    expect(issues).toHaveLength(1)
  })

  test('one left behind that may not be registered is passed over for a new one', async () => {
    issues = [{ number: 1, body: issueBody, state: 'open', login: 'github-actions[bot]' }]
    const problem = {
      type: 'about:blank',
      title: 'refused',
      status: 422,
      code: 'registration_refused',
      detail: 'edited',
    }
    troubles['POST /run/registration'] = [fails(422, problem)]
    expect(await openApprovalIssue(calls(), github(), paused())).toMatchObject({ ok: true, number: 2, found: false })
    expect(registered).toEqual({ pause: 'pause-1', issue: 2 })
  })

  test('refused again and again: a fault with the reason, not an issue after the other', async () => {
    const problem = {
      type: 'about:blank',
      title: 'refused',
      status: 422,
      code: 'registration_refused',
      detail: 'edited',
    }
    troubles['POST /run/registration'] = Array.from({ length: 100 }, () => fails(422, problem))
    const given = openApprovalIssue(calls(), github(), paused())
    await expect(given).rejects.toMatchObject({ code: 'invalid', message: expect.stringMatching(/edited; re-run/) })
    expect(issues).toHaveLength(5)
  })

  test('what GitHub refuses is a result, not a throw', async () => {
    troubles['POST /repos/org/repo/issues'] = [fails(410)]
    expect(await openApprovalIssue(calls(), github(), paused())).toMatchObject({ ok: false, code: 'issues_disabled' })
    expect(registered).toBeNull()
  })
})

describe('attach', () => {
  const request: AttachRequest = {
    version: 1,
    document: 'a.yaml',
    step: '__self',
    job: 'release',
    jobId: null,
    matrixDigest: digest,
    commit: { sha: null, head: null },
    agentctlRun: null,
    settings: {},
  }
  const source = () => ({
    url: `${server.origin}/token?api-version=2.0`,
    token: 'request-token',
    audience: server.origin,
  })

  test('two round trips: a token for the control plane’s origin, and the exchange', async () => {
    expect(await attach(calls(), source(), request)).toMatchObject({ outcome: 'pending', run: 'run-1' })
    expect(seen).toEqual([
      { route: 'GET /token', authorization: 'Bearer request-token' },
      { route: 'POST /v1/attach', authorization: 'Bearer oidc-1' },
    ])
  })

  test('every try brings a fresh token', async () => {
    troubles['POST /v1/attach'] = [fails(503), after]
    await attach(calls(), source(), request)
    const used = seen.filter(call => call.route === 'POST /v1/attach').map(call => call.authorization)
    expect(used).toEqual(['Bearer oidc-1', 'Bearer oidc-2', 'Bearer oidc-3'])
  })

  test.each<[string, number, unknown, string, RegExp]>([
    [
      'held by another',
      409,
      { code: 'lease_held', detail: 'held by job 7 of run 8' },
      'lease_held',
      /held by job 7.*re-run this job/,
    ],
    ['not trusted', 401, { code: 'unauthorised', detail: 'wrong audience' }, 'unauthorised', /OIDC_AUDIENCE/],
    ['unknown repository', 404, { code: 'not_found' }, 'not_found', /GitHub App is installed/],
  ])('%s', async (_, status, problem, code, text) => {
    const full = { type: 'about:blank', title: 'refused', status, ...(problem as object) }
    troubles['POST /v1/attach'] = [fails(status, full)]
    await expect(attach(calls(), source(), request)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(text),
    })
    expect(count('POST /v1/attach')).toBe(1)
  })

  test('no OIDC token: the permission to add', async () => {
    troubles['GET /token'] = [fails(403)]
    await expect(attach(calls(), source(), request)).rejects.toMatchObject({
      message: expect.stringContaining('id-token: write'),
    })
    expect(count('POST /v1/attach')).toBe(0)
  })
})
