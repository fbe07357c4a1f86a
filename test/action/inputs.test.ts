import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ActionError } from '../../action/failure.ts'
import { type Inputs, readInputs, requestedSettings } from '../../action/inputs.ts'

const minimal = { workflow: '.agentctl/release.yaml' }
const run = '0199c0de-0000-7000-8000-000000000001'

/** Inputs as the runner hands them in: trimmed texts, empty where not given. */
const read = (given: Record<string, string>): Inputs => readInputs(name => given[name] ?? '')

function fault(given: Record<string, string>): ActionError {
  try {
    read({ ...minimal, ...given })
  } catch (error) {
    if (error instanceof ActionError) return error
    throw error
  }
  throw new Error(`accepted ${JSON.stringify(given)}`)
}

test('nothing but a workflow: every default', () => {
  expect(read(minimal)).toEqual({
    workflow: '.agentctl/release.yaml',
    inputs: {},
    'working-directory': '.',
    'control-plane-url': null,
    'github-token': '',
    'agentctl-run': null,
    'resume-with': 'rerun',
    approvers: null,
    'minimum-approvals': null,
    'prevent-self-approval': null,
    'approval-expires': null,
    'approval-labels': null,
    'on-pause': 'fail',
    'issue-detail': null,
    floor: null,
    summary: true,
    'job-id': null,
    matrix: null,
    container: false,
  })
})

test.each<[string, string, unknown]>([
  ['inputs', '{"version": "1.0", "n": [1]}', { version: '1.0', n: [1] }],
  ['control-plane-url', 'https://agentctl.example.dev', 'https://agentctl.example.dev'],
  ['control-plane-url', 'https://Agentctl.Example.dev:443/', 'https://agentctl.example.dev'],
  ['control-plane-url', 'http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
  ['control-plane-url', 'http://localhost:8787/', 'http://localhost:8787'],
  ['agentctl-run', run, run],
  ['resume-with', 'auto', 'rerun'],
  ['resume-with', 'rerun', 'rerun'],
  ['resume-with', 'workflow_dispatch', 'workflow_dispatch'],
  ['approvers', 'alice', { users: ['alice'], teams: [] }],
  ['approvers', '@alice, org/release-team\nbob_short', { users: ['alice', 'bob_short'], teams: ['org/release-team'] }],
  ['approvers', 'Alice,alice,,\n ALICE ', { users: ['ALICE'], teams: [] }],
  ['minimum-approvals', '2', 2],
  ['prevent-self-approval', 'true', true],
  ['prevent-self-approval', 'False', false],
  ['approval-expires', '7d', 604_800],
  ['approval-expires', '12h', 43_200],
  ['approval-expires', '30m', 1_800],
  ['approval-expires', '1m', 60],
  ['approval-expires', '29d', 29 * 86_400],
  ['approval-labels', 'release, needs review\nrelease', ['release', 'needs review']],
  ['on-pause', 'fail', 'fail'],
  ['issue-detail', 'summary', 'summary'],
  ['floor', '.github/agentctl/floor.yaml', '.github/agentctl/floor.yaml'],
  ['summary', 'false', false],
  ['job-id', '41234567890', 41234567890],
  ['matrix', '{"os":"linux"}', { os: 'linux' }],
  ['matrix', 'null', null],
  ['container', 'f00ba4', true],
  ['working-directory', 'services/a b/ü', 'services/a b/ü'],
])('%s: %s', (name, text, expected) => {
  expect(read({ ...minimal, [name]: text })[name as keyof Inputs]).toEqual(expected)
})

describe('each fault names the input and what it must be, exit 2', () => {
  test.each<[string, string, RegExp]>([
    ['workflow', '', /required/],
    ['workflow', '../other/release.yaml', /\.\./],
    ['workflow', 'a\0b', /NUL/],
    ['inputs', '{', /a JSON object/],
    ['inputs', '[1]', /a JSON object/],
    ['inputs', '"text"', /a JSON object/],
    ['inputs', 'null', /a JSON object/],
    ['working-directory', 'a/../../b', /\.\./],
    ['control-plane-url', 'agentctl.example.dev', /https:\/\/HOST/],
    ['control-plane-url', 'http://agentctl.example.dev', /https/],
    ['control-plane-url', 'https://u:p@agentctl.example.dev', /credentials/],
    ['control-plane-url', 'https://agentctl.example.dev/v1', /without a path/],
    ['control-plane-url', 'https://agentctl.example.dev/?a=b', /without a path/],
    ['control-plane-url', 'file:///etc/passwd', /https/],
    ['agentctl-run', '-x', /run id/],
    ['agentctl-run', '$(id)', /run id/],
    ['resume-with', 'dispatch', /auto, rerun or workflow_dispatch/],
    ['approvers', 'alice bob', /logins or org\/team/],
    ['approvers', '.*', /logins or org\/team/],
    ['approvers', '-x', /logins or org\/team/],
    ['approvers', 'a/b/c', /logins or org\/team/],
    ['minimum-approvals', '0', /from 1/],
    ['minimum-approvals', '-1', /from 1/],
    ['minimum-approvals', '1.5', /from 1/],
    ['minimum-approvals', 'two', /from 1/],
    ['prevent-self-approval', 'yes', /true or false/],
    ['approval-expires', '30d', /at most 29d/],
    ['approval-expires', '0m', /at least 1m/],
    ['approval-expires', '7', /30m, 12h, 7d/],
    ['approval-expires', '1w', /30m, 12h, 7d/],
    ['approval-expires', '7d12h', /30m, 12h, 7d/],
    ['approval-labels', 'x'.repeat(51), /50 characters/],
    ['on-pause', 'succeed', /re-run/],
    ['on-pause', 'ignore', /fail or succeed/],
    ['issue-detail', 'some', /full or summary/],
    ['floor', '../floor.yaml', /\.\./],
    ['summary', 'maybe', /true or false/],
    ['job-id', 'abc', /default/],
    ['matrix', '{', /JSON/],
  ])('%s: %j', (name, text, expected) => {
    const error = fault({ [name]: text })
    expect(error.exitCode).toBe(2)
    expect(error.message).toContain(`input ${name}`)
    expect(`${error.message} ${error.help}`).toMatch(expected)
  })

  test('all at once', () => {
    const error = fault({ 'minimum-approvals': 'two', summary: 'maybe', inputs: '{' })
    for (const name of ['minimum-approvals', 'summary', 'inputs']) expect(error.message).toContain(`input ${name}`)
  })
})

test('on-pause succeed is taken with workflow_dispatch only', () => {
  const inputs = read({ ...minimal, 'on-pause': 'succeed', 'resume-with': 'workflow_dispatch' })
  expect(inputs['on-pause']).toBe('succeed')
})

test('any text is either taken or refused by name', () => {
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(read(minimal))), fc.string({ unit: 'binary' }), (name, text) => {
      try {
        read({ ...minimal, [name]: text })
      } catch (error) {
        expect(error).toBeInstanceOf(ActionError)
        expect((error as ActionError).message).toContain(`input ${name}`)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('only what was given is asked of the control plane', () => {
  expect(requestedSettings(read(minimal))).toEqual({})
  const given = {
    approvers: 'alice, org/team',
    'minimum-approvals': '2',
    'prevent-self-approval': 'false',
    'approval-expires': '1h',
    'approval-labels': 'a',
    'issue-detail': 'full',
  }
  expect(requestedSettings(read({ ...minimal, ...given }))).toEqual({
    users: ['alice'],
    teams: ['org/team'],
    minimumApprovals: 2,
    preventSelfApproval: false,
    expiresAfterSeconds: 3_600,
    labels: ['a'],
    issueDetail: 'full',
  })
})

describe('action.yml', () => {
  const action = parse(readFileSync(new URL('../../action.yml', import.meta.url), 'utf8')) as {
    inputs: Record<string, { description: string; default?: string; required?: boolean }>
    outputs: Record<string, { description: string }>
    runs: { using: string; main: string }
  }

  test('names exactly the inputs that are read', () => {
    expect(Object.keys(action.inputs).sort()).toEqual(Object.keys(read(minimal)).sort())
  })

  test('its plain defaults are accepted and mean what the code means without them', () => {
    const expressions = ['github-token', 'job-id', 'matrix', 'container']
    const defaults = Object.fromEntries(
      Object.entries(action.inputs).flatMap(([name, { default: text }]) =>
        text === undefined || expressions.includes(name) ? [] : [[name, text]],
      ),
    )
    expect(read({ ...defaults, ...minimal })).toEqual(read(minimal))
  })

  test('fills the hidden inputs from expressions', () => {
    expect(action.inputs['github-token']?.default).toBe('${{ github.token }}')
    expect(action.inputs['job-id']?.default).toBe('${{ job.check_run_id }}')
    expect(action.inputs['matrix']?.default).toBe('${{ toJSON(matrix) }}')
    expect(action.inputs['container']?.default).toBe('${{ job.container.id }}')
  })

  test('describes everything and starts dist on Node 24', () => {
    for (const { description } of [...Object.values(action.inputs), ...Object.values(action.outputs)])
      expect(description.length).toBeGreaterThan(10)
    expect(Object.keys(action.outputs)).toEqual([
      'status',
      'exit-code',
      'run-id',
      'plan-digest',
      'approval-issue-number',
      'approval-issue-url',
      'outputs',
      'audit-url',
      'audit-head',
    ])
    expect(action.runs).toEqual({
      using: 'node24',
      main: 'dist/index.js',
      post: 'dist/post.js',
      'post-if': 'always()',
    })
  })
})
