import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunHandle, Workflow } from '../github/index.ts'
import { at, plainWorkflow, type Stage, stage, statusOf } from './world.ts'

let scene: Stage

beforeEach(async () => {
  scene = await stage()
})
afterEach(() => scene.github.close())

const start = (jobs: Workflow['jobs'], more: Partial<Workflow> = {}): RunHandle => {
  scene.repository.addWorkflow(plainWorkflow(jobs, more))
  return scene.github.startRun(scene.repository, more.path ?? 'plain.yml', { actor: 'alice' })
}
const conclusions = (run: RunHandle, attempt?: number) =>
  Object.fromEntries(run.attempt(attempt).jobs.map(job => [job.name, job.conclusion]))
const bot = async () => (await scene.installation()).rest
const pass = { run: () => {} }
const fail = {
  run: () => {
    throw new Error('no')
  },
}

test('jobs run in the order of their needs, and a failure skips what needs it', async () => {
  const order: string[] = []
  const say = (name: string) => ({ run: () => void order.push(name) })
  const run = start({
    last: { needs: ['first', 'second'], steps: [say('last')] },
    second: { needs: ['first'], steps: [say('second')] },
    first: { steps: [say('first')] },
    broken: { needs: ['first'], steps: [fail] },
    never: { needs: ['broken'], steps: [say('never')] },
    cleanup: { needs: ['never'], if: 'always()', steps: [say('cleanup')] },
  })
  await run.completed()
  expect(order.filter(name => name !== 'cleanup')).toEqual(['first', 'second', 'last'])
  expect(conclusions(run)).toEqual({
    last: 'success',
    second: 'success',
    first: 'success',
    broken: 'failure',
    never: 'skipped',
    cleanup: 'success',
  })
  expect(run.attempt().conclusion).toBe('failure')
})

test('a re-run of a failed job repeats it and its dependents in new directories under new ids, and nothing else', async () => {
  const ran: string[] = []
  const note = (name: string) => ({ run: ({ attempt }: { attempt: number }) => void ran.push(`${name} ${attempt}`) })
  const run = start({
    good: { steps: [note('good')] },
    flaky: {
      steps: [
        note('flaky'),
        {
          run: ({ attempt }) => {
            if (attempt === 1) throw new Error('first time')
          },
        },
      ],
    },
    after: { needs: ['flaky'], steps: [note('after')] },
  })
  await run.completed()
  const before = run.job('flaky')
  await (await bot()).actions.reRunJobForWorkflowRun({ ...at, job_id: before.id })
  await run.completed(2)
  const again = run.job('flaky', 2)
  expect(ran.sort()).toEqual(['after 2', 'flaky 1', 'flaky 2', 'good 1'])
  expect(conclusions(run, 1)).toEqual({ good: 'success', flaky: 'failure', after: 'skipped' })
  expect(conclusions(run, 2)).toEqual({ good: 'success', flaky: 'success', after: 'success' })
  const ids = [1, 2].flatMap(n => run.attempt(n).jobs.map(job => job.id))
  expect(new Set(ids).size).toBe(6)
  expect(again.workspace).not.toBe(before.workspace)
  expect(again.temp).not.toBe(before.temp)
  expect(existsSync(before.workspace ?? '')).toBe(true)
  expect(run.attempt(2).triggeringActor.login).toBe('agentctl-double[bot]')
  expect(run.run.actor.login).toBe('alice')
})

test('GitHub’s refusals: running, an older attempt’s job, a month, fifty attempts, a disabled workflow', async () => {
  let release = () => {}
  const gate = new Promise<void>(resolve => {
    release = resolve
  })
  const run = start({ one: { steps: [{ run: () => gate }, fail] } })
  const actions = (await bot()).actions
  const oldJob = run.job('one').id
  const message = (request: Promise<unknown>) =>
    request.then(
      () => 'done',
      (error: Error) => error.message.split(' - ')[0],
    )
  expect(await message(actions.reRunJobForWorkflowRun({ ...at, job_id: oldJob }))).toBe(
    'The workflow run containing this job is already running',
  )
  expect(await message(actions.reRunWorkflowFailedJobs({ ...at, run_id: run.id }))).toBe(
    'This workflow is already running',
  )
  release()
  await run.completed()
  await actions.reRunWorkflowFailedJobs({ ...at, run_id: run.id })
  await run.completed(2)
  expect(await message(actions.reRunJobForWorkflowRun({ ...at, job_id: oldJob }))).toBe(
    'This workflow run cannot be retried',
  )
  scene.repository.disableWorkflow('.github/workflows/plain.yml')
  expect(await message(actions.reRunWorkflow({ ...at, run_id: run.id }))).toBe('This workflow run cannot be retried')
  run.run.createdAt = new Date(Date.now() - 31 * 24 * 3600 * 1000)
  expect(await message(actions.reRunWorkflow({ ...at, run_id: run.id }))).toBe(
    'Unable to retry this workflow run because it was created over a month ago',
  )
  expect(await statusOf(actions.cancelWorkflowRun({ ...at, run_id: run.id }))).toBe(409)
  expect(run.run.attempts).toHaveLength(2)
})

test('matrix siblings run beside each other under their own names; a failure cancels them unless fail-fast is off', async () => {
  const matrix = { letter: ['a', 'b', 'c'] }
  const step = {
    run: ({ matrix: own, signal }: { matrix: object | null; signal: AbortSignal }) => {
      if ((own as { letter: string }).letter === 'a') throw new Error('no')
      return new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  }
  const fast = start({ m: { strategy: { matrix }, steps: [step] } })
  await fast.completed()
  expect(conclusions(fast)).toEqual({ 'm (a)': 'failure', 'm (b)': 'cancelled', 'm (c)': 'cancelled' })
  const slow = start({ m: { strategy: { matrix, 'fail-fast': false, 'max-parallel': 1 }, steps: [fail] } })
  await slow.completed()
  expect(conclusions(slow)).toEqual({ 'm (a)': 'failure', 'm (b)': 'failure', 'm (c)': 'failure' })
  await (await bot()).actions.reRunJobForWorkflowRun({ ...at, job_id: slow.job('m (b)').id })
  await slow.completed(2)
  expect(
    slow
      .attempt(2)
      .jobs.filter(job => !job.carried)
      .map(job => job.name),
  ).toEqual(['m (b)'])
})

test('a concurrency group: the newer run takes the pending place, or cancels what runs', async () => {
  const forever = {
    run: ({ signal }: { signal: AbortSignal }) =>
      new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true })),
  }
  const queue = { concurrency: { group: 'one-${{ github.ref }}' } }
  const [first, second, third] = [
    start({ j: { steps: [forever] } }, queue),
    start({ j: { steps: [pass] } }, queue),
    start({ j: { steps: [pass] } }, queue),
  ]
  await second.completed()
  expect([first.attempt().status, second.attempt().conclusion, third.attempt().status]).toEqual([
    'in_progress',
    'cancelled',
    'queued',
  ])
  first.cancel()
  await third.completed()
  expect([first.attempt().conclusion, third.attempt().conclusion]).toEqual(['cancelled', 'success'])
  const replace = { path: '.github/workflows/replace.yml', concurrency: { group: 'r', 'cancel-in-progress': true } }
  const [old, young] = [start({ j: { steps: [forever] } }, replace), start({ j: { steps: [pass] } }, replace)]
  await young.completed()
  expect([old.attempt().conclusion, young.attempt().conclusion]).toEqual(['cancelled', 'success'])
})

test('a dispatch checks ref and inputs, and tells the run’s id when asked', async () => {
  scene.repository.addWorkflow(
    plainWorkflow(
      { j: { steps: [pass] } },
      { on: ['workflow_dispatch'], inputs: { 'agentctl-run': { default: '' }, must: { required: true } } },
    ),
  )
  const actions = (await bot()).actions
  const dispatch = (ref: string, inputs: { [name: string]: string }) =>
    actions.createWorkflowDispatch({ ...at, workflow_id: 'plain.yml', ref, inputs, return_run_details: true })
  expect(await statusOf(dispatch('no-such-branch', { must: 'x' }))).toBe(422)
  expect(await statusOf(dispatch('main', { must: 'x', surprise: 'y' }))).toBe(422)
  expect(await statusOf(dispatch('main', {}))).toBe(422)
  const { data } = await dispatch('main', { must: 'x' })
  const run = scene.github.runs.handle(scene.github.runs.find((data as { workflow_run_id: number }).workflow_run_id))
  await run.completed()
  expect(run.run).toMatchObject({
    event: 'workflow_dispatch',
    inputs: { 'agentctl-run': '', must: 'x' },
    actor: { login: 'agentctl-double[bot]' },
  })
})

test('the workspace is a checkout that git accepts, at the run’s commit and nothing else', async () => {
  const { repository } = scene
  const commit = repository.commit({ files: { 'a/deep/file.txt': 'text\n', 'a.txt': '', 'a-b': 'x' }, message: 'More' })
  const run = start({ j: { steps: [pass] }, bare: { checkout: false, steps: [pass] } })
  await run.completed()
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', run.job('j').workspace ?? '', ...args], { encoding: 'utf8' }).trim()
  expect(git('rev-parse', 'HEAD')).toBe(commit.sha)
  expect(run.run.headSha).toBe(commit.sha)
  expect(git('rev-parse', '--abbrev-ref', 'HEAD')).toBe('main')
  expect(git('status', '--porcelain')).toBe('')
  expect(git('fsck', '--strict')).not.toMatch(/error/)
  expect(git('ls-files').split('\n')).toEqual([
    '.github/workflows/plain.yml',
    'README.md',
    'a-b',
    'a.txt',
    'a/deep/file.txt',
  ])
  expect(existsSync(`${run.job('bare').workspace}/README.md`)).toBe(false)
})

test('a pull request from a fork runs the fork’s commit with a read-only token and no OIDC', async () => {
  const { github, repository } = scene
  const mallory = github.users.ensure('mallory')
  const fork = github.repositories.fork(repository, mallory)
  fork.commit({ branch: 'evil', files: { 'evil.txt': 'x' }, author: mallory })
  const pull = repository.pull({ title: 'Nice', user: mallory, head: 'evil', from: fork })
  const seen: { [name: string]: unknown } = {}
  repository.addWorkflow(
    plainWorkflow(
      {
        j: {
          permissions: { issues: 'write', contents: 'read', 'id-token': 'write' },
          env: { TOKEN: '${{ github.token }}' },
          steps: [
            {
              run: async ({ environment }) => {
                seen['oidc'] = environment['ACTIONS_ID_TOKEN_REQUEST_URL']
                seen['ref'] = environment['GITHUB_REF']
                seen['head'] = environment['GITHUB_HEAD_REF']
                const client = scene.as(environment['TOKEN'] ?? '').rest
                seen['write'] = await statusOf(client.issues.create({ ...at, title: 'T' }))
                seen['read'] = await statusOf(client.issues.listForRepo(at))
              },
            },
          ],
        },
      },
      { on: ['pull_request'] },
    ),
  )
  const run = github.startRun(repository, 'plain.yml', { actor: mallory, pull })
  await run.completed()
  expect(seen).toEqual({ oidc: undefined, ref: `refs/pull/${pull.number}/merge`, head: 'evil', write: 403, read: 0 })
  expect(existsSync(`${run.job('j').workspace}/evil.txt`)).toBe(true)
  const head = execFileSync('git', ['-C', run.job('j').workspace ?? '', 'rev-parse', 'HEAD'], {
    encoding: 'utf8',
  }).trim()
  expect([head, run.run.sha === run.run.headSha, run.run.headSha]).toEqual([run.run.sha, false, pull.pull.head.sha])
})
