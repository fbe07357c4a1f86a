import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { RunHandle } from '../github/runner/runs.ts'
import { gateWorkflow, type Scene, type SceneOptions, startScene, workflowPath } from '../harness/scene.ts'
import { builtAction } from './job.ts'

/** The built Action under a real control plane and the GitHub double: what each attempt finds and does (04). */
let action: Awaited<ReturnType<typeof builtAction>>
let scene: Scene
beforeAll(async () => {
  action = await builtAction()
})
afterAll(() => action.remove())
afterEach(() => scene.close())

async function start(options: SceneOptions = {}, event = 'push'): Promise<RunHandle> {
  scene = await startScene({ ...options, github: { action: action.folder, ...options.github } })
  const run = scene.github.startRun(scene.repository, workflowPath, { actor: 'alice', event })
  await run.completed()
  return run
}

const user = (login: string) => scene.github.users.ensure(login)

async function decide(run: RunHandle, words: string): Promise<void> {
  const attempts = run.run.attempts.length
  scene.github.comment(await scene.approvalIssue(), user('bob'), words)
  await scene.github.until(() => run.run.attempts.length > attempts)
  await run.completed()
}

async function again(run: RunHandle): Promise<void> {
  scene.github.runs.rerun(run.run, user('alice'))
  await run.completed()
}

const written = (run: RunHandle) => join(run.job().workspace ?? '', 'out/approved.txt')

test('pause, approval, resume in a new workspace; a further attempt repeats the outputs and runs nothing', async () => {
  const run = await start()
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
  expect(run.action().annotations).toContainEqual(
    expect.objectContaining({ level: 'notice', title: 'waiting for approval' }),
  )
  const firstWorkspace = run.job().workspace

  await decide(run, '/approve looks right')
  const resumed = run.action()
  expect(resumed).toMatchObject({
    exitCode: 0,
    outputs: { status: 'succeeded', outputs: '{"written":"out/approved.txt"}' },
  })
  expect(run.job().workspace).not.toBe(firstWorkspace)
  expect(readFileSync(written(run), 'utf8')).toBe('approved by a person')
  expect(resumed.log).toContain('gated: approved by bob: looks right')
  expect(resumed.summary).toContain('approved by bob')

  await again(run)
  expect(run.action()).toMatchObject({
    exitCode: 0,
    outputs: { status: 'succeeded', outputs: '{"written":"out/approved.txt"}' },
  })
  expect(run.action().outputs['run-id']).toBe(resumed.outputs['run-id'])
  expect(run.action().log).toContain('nothing ran again')
  expect(existsSync(written(run))).toBe(false)
  scene.github.assertValid()
})

test('an attempt that finds its pause undecided exits 3 with the same issue', async () => {
  const run = await start()
  const first = run.action()
  await again(run)
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
  expect(run.action().outputs['run-id']).toBe(first.outputs['run-id'])
  expect(scene.approvalIssues()).toHaveLength(1)
})

test('a rejected run exits 3 again, whatever re-runs it, and never writes', async () => {
  const run = await start()
  const issue = await scene.approvalIssue()
  scene.github.comment(issue, user('bob'), '/reject not now')
  await scene.github.until(() => issue.state === 'closed')
  await again(run)
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'denied', 'exit-code': '3' } })
  expect(existsSync(written(run))).toBe(false)
})

test('issues are disabled: the pause stands and is named; once they are enabled a re-run asks', async () => {
  const run = await start({ repository: { hasIssues: false } })
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '' } })
  expect(run.action().annotations).toContainEqual(expect.objectContaining({ level: 'error', title: 'issues_disabled' }))
  scene.repository.set({ hasIssues: true })
  await again(run)
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
  await decide(run, '/approve')
  expect(run.action()).toMatchObject({ exitCode: 0 })
})

test('without issues: write the pause stands, with the line to add', async () => {
  const run = await start({
    workflow: url => ({ ...gateWorkflow(url), permissions: { contents: 'read', 'id-token': 'write' } }),
  })
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
  expect(run.action().annotations).toContainEqual(
    expect.objectContaining({ title: 'missing_permission', message: expect.stringContaining('issues: write') }),
  )
})

test('without id-token: write nothing is attached, exit 2 with the line to add', async () => {
  const run = await start({
    workflow: url => ({ ...gateWorkflow(url), permissions: { contents: 'read', issues: 'write' } }),
  })
  expect(run.action()).toMatchObject({ exitCode: 2, outputs: { status: 'failed' } })
  expect(run.action().log).toContain('id-token: write')
})

test('a pull request from a fork is refused by name', async () => {
  scene = await startScene({ github: { action: action.folder } })
  const fork = scene.github.repositories.fork(scene.repository, user('mallory'))
  fork.commit({ files: { 'README.md': 'changed' }, branch: 'change' })
  const pull = scene.repository.pull({ title: 'change', user: user('mallory'), head: 'change', from: fork })
  const run = scene.github.startRun(scene.repository, workflowPath, { event: 'pull_request', actor: 'mallory', pull })
  await run.completed()
  expect(run.action()).toMatchObject({ exitCode: 2, outputs: { status: 'failed' } })
  expect(run.action().log).toContain('fork_pull_request')
})

test('no token, lease or secret stands in log, summary or outputs', async () => {
  const run = await start()
  await decide(run, '/approve')
  for (const attempt of [1, 2]) {
    const { raw, summary, outputs } = run.action(undefined, attempt)
    const shown = raw.replaceAll(/^::add-mask::.*$/gm, '') + summary + JSON.stringify(outputs)
    expect(shown).not.toMatch(/ghs_|eyJ[A-Za-z0-9_-]{10}/)
  }
})
