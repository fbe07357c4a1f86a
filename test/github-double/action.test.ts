import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseKeyValues } from '../github/runner/commands.ts'
import { timing } from '../github/runner/timing.ts'
import { plainWorkflow, type Stage, stage } from './world.ts'

/** A tiny action instead of ours: what it is given, it tells. */
const directory = mkdtempSync(join(tmpdir(), 'tiny-action-'))
const yml = `name: tiny
inputs:
  mode: { required: true }
  two words: { default: both }
  github-token: { default: "\${{ github.token }}" }
  job-id: { default: "\${{ job.check_run_id }}" }
  matrix: { default: "\${{ toJSON(matrix) }}" }
  container: { default: "\${{ job.container.id }}" }
runs: { using: node24, main: dist/main.js, post: dist/post.js }
`
const main = `
const { appendFileSync, writeFileSync } = require('node:fs')
const env = process.env
const out = (file, text) => appendFileSync(env[file], text + '\\n')
const modes = {
  tell() {
    out('GITHUB_OUTPUT', 'environment<<END\\n' + JSON.stringify(env) + '\\nEND')
    out('GITHUB_OUTPUT', 'cwd=' + process.cwd())
    out('GITHUB_STATE', 'left=behind')
    out('GITHUB_STEP_SUMMARY', '# Done')
    console.log('::add-mask::sesame')
    console.log('::error file=a.yml,line=3,col=7,title=No%2C%3A::first%0Asecond')
    console.log('::stop-commands::halt')
    console.log('::warning::not one')
    console.log('::halt::')
    console.error('::notice::from stderr')
    console.log('open sesame and ' + env['INPUT_GITHUB-TOKEN'])
  },
  fail() { process.exitCode = 3 },
  hang() { process.on('SIGINT', () => { console.log('interrupted'); process.exit(130) }); console.log('ready'); setInterval(() => {}, 1000) },
  deaf() { for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => console.log('heard ' + s)); console.log('ready'); setInterval(() => {}, 1000) },
  orphan() {
    const { spawn } = require('node:child_process')
    for (const clear of [false, true]) {
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { detached: true, stdio: 'ignore', ...(clear && { env: {} }) })
      child.unref()
      out('GITHUB_OUTPUT', (clear ? 'cleared=' : 'inherited=') + child.pid)
    }
  },
  garbage() { out('GITHUB_OUTPUT', 'no equals sign') },
  async token() {
    const answer = await fetch(env.ACTIONS_ID_TOKEN_REQUEST_URL + '&audience=' + encodeURIComponent('https://agentctl.example'),
      { headers: { authorization: 'Bearer ' + env.ACTIONS_ID_TOKEN_REQUEST_TOKEN } })
    out('GITHUB_OUTPUT', 'token=' + (await answer.json()).value)
    out('GITHUB_OUTPUT', 'request=' + env.ACTIONS_ID_TOKEN_REQUEST_URL + ' ' + env.ACTIONS_ID_TOKEN_REQUEST_TOKEN)
  },
}
modes[env.INPUT_MODE]()
`
let scene: Stage

beforeAll(() => {
  mkdirSync(join(directory, 'dist'))
  writeFileSync(join(directory, 'action.yml'), yml)
  writeFileSync(join(directory, 'dist/main.js'), main)
  writeFileSync(join(directory, 'dist/post.js'), `console.log('post saw ' + process.env.STATE_left)`)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))
beforeEach(async () => {
  scene = await stage({ action: directory })
})
afterEach(() => scene.github.close())

function start(mode: string, more: Parameters<Stage['github']['startRun']>[2] = {}) {
  scene.repository.addWorkflow(
    plainWorkflow(
      { tiny: { strategy: { matrix: { os: ['linux'] } }, steps: [{ id: 'it', uses: 'agentctl', with: { mode } }] } },
      { permissions: { contents: 'read', 'id-token': 'write' } },
    ),
  )
  return scene.github.startRun(scene.repository, 'plain.yml', { actor: 'bob', ...more })
}

test('the action gets what a runner gives, and its files and commands are read', async () => {
  const run = start('tell')
  await run.completed()
  const step = run.action()
  expect([step.conclusion, step.exitCode]).toEqual(['success', 0])
  const env = JSON.parse(step.outputs['environment'] ?? '{}')
  expect(env).toMatchObject({
    CI: 'true',
    GITHUB_ACTION: 'it',
    GITHUB_ACTOR: 'bob',
    GITHUB_API_URL: scene.github.apiUrl,
    GITHUB_EVENT_NAME: 'push',
    GITHUB_JOB: 'tiny',
    GITHUB_REF: 'refs/heads/main',
    GITHUB_REF_NAME: 'main',
    GITHUB_REPOSITORY: 'acme/shop',
    GITHUB_REPOSITORY_ID: String(scene.repository.id),
    GITHUB_RUN_ATTEMPT: '1',
    GITHUB_RUN_ID: String(run.id),
    GITHUB_SHA: scene.repository.head().sha,
    GITHUB_WORKFLOW_REF: 'acme/shop/.github/workflows/plain.yml@refs/heads/main',
    INPUT_CONTAINER: '',
    'INPUT_JOB-ID': String(run.job().id),
    INPUT_MATRIX: '{\n  "os": "linux"\n}',
    INPUT_TWO_WORDS: 'both',
    RUNNER_ENVIRONMENT: 'self-hosted',
  })
  expect(env['GITHUB_WORKSPACE']).toBe(step.outputs['cwd'])
  expect(env['NODE_OPTIONS']).toBeUndefined()
  expect(step.summary).toBe('# Done\n')
  expect(step.annotations).toEqual(
    expect.arrayContaining([
      { level: 'error', message: 'first\nsecond', file: 'a.yml', line: 3, column: 7, title: 'No,:' },
      { level: 'notice', message: 'from stderr' },
    ]),
  )
  expect(step.annotations).toHaveLength(2)
  expect(step.log).toContain('open *** and ***')
  expect(step.raw).toContain('open sesame and ghs_')
  expect(step.log).toContain('post saw behind')
})

test('GHES knows no job.check_run_id and no run details', async () => {
  const ghes = await stage({ action: directory, edition: 'ghes' })
  const { github, repository } = ghes
  repository.addWorkflow(plainWorkflow({ tiny: { steps: [{ id: 'it', uses: 'agentctl', with: { mode: 'tell' } }] } }))
  const run = github.startRun(repository, 'plain.yml', { actor: 'bob' })
  await run.completed()
  expect(JSON.parse(run.action().outputs['environment'] ?? '{}')).toMatchObject({
    'INPUT_JOB-ID': '',
    INPUT_MATRIX: 'null',
  })
  const bot = await ghes.installation()
  const answer = await bot.rest.actions.createWorkflowDispatch({
    owner: 'acme',
    repo: 'shop',
    workflow_id: 'plain.yml',
    ref: 'main',
    return_run_details: true,
  })
  expect(answer.status).toBe(204)
  await github.close()
})

test('an exit code is the step’s, and fails the job', async () => {
  const run = start('fail')
  await run.completed()
  expect([run.action().exitCode, run.action().conclusion, run.attempt().conclusion]).toEqual([3, 'failure', 'failure'])
})

test('a malformed output file fails the step', async () => {
  const run = start('garbage')
  await run.completed()
  expect([run.action().exitCode, run.action().conclusion]).toEqual([0, 'failure'])
})

test('a cancel interrupts; who does not listen is terminated, then killed', async () => {
  const usual = { ...timing }
  Object.assign(timing, { interrupt: 150, terminate: 100 })
  try {
    for (const { mode, exitCode, signal, log } of [
      { mode: 'hang', exitCode: 130, signal: null, log: /interrupted/ },
      { mode: 'deaf', exitCode: null, signal: 'SIGKILL', log: /heard SIGINT\s+heard SIGTERM/ },
    ]) {
      const run = start(mode, {
        onProcess: process =>
          process.phase === 'main' && process.onOutput(text => text.includes('ready') && run.cancel()),
      })
      await run.completed()
      const step = run.action()
      expect([run.attempt().conclusion, step.conclusion, step.exitCode, step.signal]).toEqual([
        'cancelled',
        'cancelled',
        exitCode,
        signal,
      ])
      expect(step.log).toMatch(log)
    }
  } finally {
    Object.assign(timing, usual)
  }
})

test('the runner kills what inherited its tracking id, and cannot see what did not', async () => {
  const run = start('orphan')
  await run.completed()
  const { inherited, cleared } = run.action().outputs
  // Ends what the runner left: the test's own process.
  process.kill(Number(cleared), 'SIGKILL')
  expect(run.job().orphans).toEqual([Number(inherited)])
})

test('a process can be killed at any moment of its life', async () => {
  const run = start('hang', {
    onProcess: process => process.phase === 'main' && process.onOutput(() => process.kill('SIGKILL')),
  })
  await run.completed()
  expect([run.action().signal, run.attempt().conclusion]).toEqual(['SIGKILL', 'failure'])
  const timed = start('hang', { killAt: ({ phase }) => (phase === 'main' ? 20 : null) })
  await timed.completed()
  expect(timed.action().signal).toBe('SIGKILL')
})

test('a job’s OIDC token verifies by discovery and carries GitHub’s claims; its address ends with the job', async () => {
  const run = start('token')
  await run.completed()
  const { token = '', request = '' } = run.action().outputs
  const { oidcIssuer } = scene.github
  const discovery = (await (await fetch(`${oidcIssuer}/.well-known/openid-configuration`)).json()) as {
    issuer: string
    jwks_uri: string
  }
  expect(discovery.issuer).toBe(oidcIssuer)
  const keys = createRemoteJWKSet(new URL(discovery.jwks_uri))
  const { payload } = await jwtVerify(token, keys, { issuer: oidcIssuer, audience: 'https://agentctl.example' })
  expect(payload).toMatchObject({
    sub: 'repo:acme/shop:ref:refs/heads/main',
    repository: 'acme/shop',
    repository_id: String(scene.repository.id),
    run_id: String(run.id),
    run_attempt: '1',
    workflow_ref: 'acme/shop/.github/workflows/plain.yml@refs/heads/main',
    sha: scene.repository.head().sha,
    actor: 'bob',
    runner_environment: 'self-hosted',
  })
  await expect(jwtVerify(token, keys, { audience: 'https://elsewhere.example' })).rejects.toThrow(/aud/)
  scene.github.oidc.rotate()
  const later = scene.github.oidc.sign({ ...payload, jti: 'other' })
  const fresh = createRemoteJWKSet(new URL(discovery.jwks_uri))
  expect((await jwtVerify(later, fresh)).payload.jti).toBe('other')
  expect((await jwtVerify(token, fresh)).payload.jti).toBe(payload.jti)
  const [url = '', bearer = ''] = request.split(' ')
  expect((await fetch(url, { headers: { authorization: `Bearer ${bearer}` } })).status).toBe(401)
})

test.each([
  ['a=b=c\n\nd=', { a: 'b=c', d: '' }],
  ['a<<X\n1\n2=\nX\nb=3', { a: '1\n2=', b: '3' }],
  ['a=1\r\nb=<<X', { a: '1', b: '<<X' }],
])('the file command %j is read', (text, expected) => {
  expect(parseKeyValues(text)).toEqual(expected)
})

test.each(['a<<X\n1', 'nothing', '=x', '<<X\nX'])('the file command %j is refused', text => {
  expect(() => parseKeyValues(text)).toThrow(/Invalid/)
})
