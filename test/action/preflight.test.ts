import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ActionError, describeFailure } from '../../action/failure.ts'
import { readInputs } from '../../action/inputs.ts'
import { type Job, readJob } from '../../action/job.ts'
import { preflight } from '../../action/preflight.ts'
import { LedgerError } from '../../ledger/port.ts'
import { OwnCallError } from '../../runner/network/own.ts'

const folder = mkdtempSync(join(tmpdir(), 'agentctl-preflight-'))
afterAll(() => rmSync(folder, { recursive: true }))

const variables = {
  GITHUB_WORKSPACE: '/work space',
  RUNNER_TEMP: '/temp',
  GITHUB_REPOSITORY: 'org/repo',
  GITHUB_SHA: 'a'.repeat(40),
  GITHUB_EVENT_NAME: 'push',
  GITHUB_JOB: 'release',
  GITHUB_ACTION: '__self',
  GITHUB_ACTOR: 'alice',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example/?api-version=2.0',
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'oidc-request-token',
}

function payload(value: unknown): string {
  const path = join(folder, `${Math.random()}.json`)
  writeFileSync(path, JSON.stringify(value))
  return path
}

const inputs = (given: Record<string, string> = {}) =>
  readInputs(
    name =>
      ({ workflow: 'a.yaml', 'control-plane-url': 'https://x.example', 'github-token': 'ghs_x', ...given })[name] ?? '',
  )

function refusal(action: () => unknown): ActionError {
  try {
    action()
  } catch (error) {
    if (error instanceof ActionError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('the job', () => {
  test('is read from its variables', () => {
    expect(readJob(variables)).toEqual({
      checkout: '/work space',
      temp: '/temp',
      owner: 'org',
      repo: 'repo',
      sha: 'a'.repeat(40),
      event: 'push',
      actor: 'alice',
      job: 'release',
      step: '__self',
      workflowRef: '',
      apiUrl: 'https://api.github.com',
      serverUrl: 'https://github.com',
      oidc: { url: 'https://token.example/?api-version=2.0', token: 'oidc-request-token' },
      fromFork: false,
    })
  })

  test('on another server its addresses are that server’s', () => {
    const ghes = { GITHUB_API_URL: 'https://ghes.example/api/v3/', GITHUB_SERVER_URL: 'https://ghes.example/' }
    expect(readJob({ ...variables, ...ghes })).toMatchObject({
      apiUrl: 'https://ghes.example/api/v3',
      serverUrl: 'https://ghes.example',
    })
  })

  test('outside a job every missing variable is named', () => {
    const error = refusal(() => readJob({}))
    expect(error).toMatchObject({ code: 'not_a_job', exitCode: 2 })
    for (const name of ['GITHUB_WORKSPACE', 'RUNNER_TEMP', 'GITHUB_REPOSITORY', 'GITHUB_JOB', 'GITHUB_ACTION'])
      expect(error.message).toContain(name)
  })

  test.each<[string, unknown, boolean]>([
    ['a push', { ref: 'x' }, false],
    ['a pull request of the repository', pull(1, 1), false],
    ['a pull request of a fork', pull(2, 1), true],
    ['a pull request of a deleted fork', pull(null, 1), true],
    ['something else', 'text', false],
  ])('%s', (_, event, expected) => {
    expect(readJob({ ...variables, GITHUB_EVENT_PATH: payload(event) }).fromFork).toBe(expected)
  })
})

function pull(head: number | null, base: number) {
  return { pull_request: { head: { repo: head === null ? null : { id: head } }, base: { repo: { id: base } } } }
}

describe('preflight', () => {
  const job: Job = readJob(variables)
  const without = { ...job, oidc: null }

  test('passes with everything there', () => {
    expect(() => preflight(inputs(), job)).not.toThrow()
  })

  test('without a control plane neither OIDC nor a token is needed', () => {
    expect(() => preflight(inputs({ 'control-plane-url': '', 'github-token': '' }), without)).not.toThrow()
  })

  test.each<[string, Job, Record<string, string>, string, RegExp]>([
    ['no OIDC', without, {}, 'missing_permission', /permissions: \{.*id-token: write.*\}/],
    [
      'a fork',
      { ...without, fromFork: true },
      {},
      'fork_pull_request',
      /if: .*head\.repo\.full_name == github\.repository/,
    ],
    [
      'Dependabot',
      { ...without, actor: 'dependabot[bot]' },
      {},
      'dependabot',
      /if: github\.actor != 'dependabot\[bot\]'/,
    ],
    ['no token', job, { 'github-token': '' }, 'no_token', /issues: write/],
  ])('%s: refused with the line to add', (_, given, more, code, line) => {
    const error = refusal(() => preflight(inputs(more), given))
    expect(error).toMatchObject({ code, exitCode: 2 })
    expect(error.help).toMatch(line)
  })

  test('an old runner', () => {
    const error = refusal(() => preflight(inputs(), job, '20.19.0'))
    expect(error).toMatchObject({ code: 'old_runner', exitCode: 2 })
    expect(error.help).toContain('2.327.1')
  })
})

describe('any thrown thing has a code, an exit code and a text', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  test.each<[unknown, string, number, RegExp]>([
    [new ActionError('some_code', 'subject', { help: 'do this' }), 'some_code', 2, /subject/],
    [new LedgerError('unreachable', 'down'), 'unreachable', 5, /down/],
    [new LedgerError('lease_held', 'held by job 7'), 'lease_held', 5, /job 7/],
    [new OwnCallError('redirect', 'GET https://x.example: 302'), 'redirect', 5, /302/],
    [new TypeError('odd'), 'internal', 4, /TypeError: odd/],
    ['text', 'internal', 4, /not an Error: text/],
    [undefined, 'internal', 4, /not an Error/],
    [circular, 'internal', 4, /not an Error: \{.*\[seen above\]/],
    [10n, 'internal', 4, /not an Error/],
  ])('%#', (thrown, code, exitCode, text) => {
    const described = describeFailure(thrown)
    expect(described).toMatchObject({ code, exitCode })
    expect(described.message).toMatch(text)
  })
})
