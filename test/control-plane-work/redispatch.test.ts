import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { verifyRegistration } from '../../control-plane/work/index.ts'
import {
  attachAgain,
  openIssue,
  outcomes,
  ownComments,
  type Paused,
  pausedRun,
  recordOf,
  recordPause,
  resumeReruns,
  starts,
} from './pauses.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

let world: World

async function open(options: WorldOptions = {}): Promise<void> {
  world = await startWorld(options)
  resumeReruns(world)
}
afterEach(() => world.close())

const rerunJob = 'POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun'
const rerunFailed = 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs'
const dispatches = 'POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches'

const approve = async (paused: Paused) => {
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
}
const status = (paused: Paused) => ownComments(world, paused.issue).join('\n')
const row = (paused: Paused) => world.store.outboxRows({ run: paused.run }).find(({ kind }) => kind === 'redispatch')

test('the row is done when the resumed instance has taken the lease, not before', async () => {
  await open()
  let taken = false
  const paused = await pausedRun(world)
  world.onJob = ({ attempt }) => {
    expect(row(paused)?.state).toBe('due')
    taken = attachAgain(world, paused.run, paused.handle.id, attempt)
  }
  await approve(paused)
  expect(taken).toBe(true)
  expect(row(paused)?.state).toBe('done')
  expect(status(paused)).toContain('The run goes on.')
})

test('waits while the workflow run is still running, names the job, and goes on when it completes', async () => {
  await open({ matrix: ['slow', 'quick'] })
  const { promise, resolve } = Promise.withResolvers<void>()
  world.onJob = async ({ matrix }) => {
    if (matrix?.['part'] === 'slow') await promise
    throw new Error('paused')
  }
  const handle = world.github.startRun(world.repository, '.github/workflows/release.yml', { actor: 'owner' })
  await world.github.until(() => handle.job('release (quick)').status === 'completed')
  const quick = recordPause(world, handle, { job: 'release (quick)' })
  const issue = openIssue(world, quick.run)
  await verifyRegistration(world.context, quick.run, quick.pause, issue.number)
  world.github.comment(issue, world.people.alice, '/approve')
  await world.github.until(() => outcomes(world, quick.pause)[0] === 'approved')
  await world.service.tick()
  expect(starts(world)).toBe(0)
  // A job may be named after anything, a pull request's title too.
  expect(ownComments(world, issue).join()).toContain('`release (slow)`')
  resumeReruns(world)
  resolve()
  await handle.completed()
  await world.settle()
  expect(starts(world)).toBe(1)
  expect(recordOf(world, quick.run).state).toBe('running')
})

test('a three-way matrix whose three jobs all pause: one re-run of all failed jobs, each takes its own run', async () => {
  await open({ matrix: ['a', 'b', 'c'] })
  const handle = await world.startRun()
  const pauses = ['a', 'b', 'c'].map(part => recordPause(world, handle, { job: `release (${part})` }))
  const issues = pauses.map(({ run }) => openIssue(world, run))
  for (const [index, { run, pause }] of pauses.entries()) {
    await verifyRegistration(world.context, run, pause, issues[index]?.number ?? 0)
  }
  await world.settle()
  world.github.deliveries.hold()
  for (const issue of issues) world.github.comment(issue, world.people.alice, '/approve')
  await world.github.deliveries.release()
  await world.settle()
  expect(pauses.map(({ run }) => recordOf(world, run).state)).toEqual(['running', 'running', 'running'])
  expect(starts(world)).toBeLessThanOrEqual(3)
  expect(handle.attempt().jobs.map(({ conclusion }) => conclusion)).toEqual(['success', 'success', 'success'])
})

test('an attempt that ends without taking the lease is retried three times, then a dead letter and a line in the issue', async () => {
  await open()
  const paused = await pausedRun(world)
  world.onJob = () => {
    throw new Error('no such runner')
  }
  await approve(paused)
  for (let round = 0; round < 8; round++) {
    world.clock.advance(3600)
    await world.settle()
  }
  expect(world.github.requests.count(rerunJob)).toBe(3)
  expect(row(paused)).toMatchObject({ state: 'dead', attempts: 3 })
  expect(status(paused)).toContain('Given up: redispatch failed')
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
  expect(recordOf(world, paused.run).state).toBe('paused')
  resumeReruns(world)
  world.store.retryOutbox(row(paused)?.id ?? '')
  await world.settle()
  expect(recordOf(world, paused.run).state).toBe('running')
})

test('an answer that got lost is looked after, not asked for again', async () => {
  await open()
  const paused = await pausedRun(world)
  world.github.faults.add({ route: rerunJob, drop: 'after' })
  await approve(paused)
  world.clock.advance(60)
  await world.settle()
  expect(world.github.requests.count(rerunJob)).toBe(1)
  expect(recordOf(world, paused.run).state).toBe('running')
})

test('a request that got lost is asked for again', async () => {
  await open()
  const paused = await pausedRun(world)
  world.github.faults.add({ route: rerunJob, drop: 'before' })
  await approve(paused)
  for (let round = 0; round < 3; round++) {
    world.clock.advance(60)
    await world.settle()
  }
  expect(recordOf(world, paused.run).state).toBe('running')
  expect(paused.handle.attempt().number).toBe(2)
})

test('a secondary limit is waited for, as long as it says', async () => {
  await open()
  const paused = await pausedRun(world)
  await world.settle()
  world.github.faults.secondaryLimit({ route: rerunJob, retryAfterSeconds: 120 })
  await approve(paused)
  const asked = world.github.requests.count()
  world.clock.advance(110)
  await world.settle()
  expect(world.github.requests.count()).toBe(asked)
  world.clock.advance(20)
  await world.settle()
  expect(recordOf(world, paused.run).state).toBe('running')
})

test('resume-with workflow_dispatch: a new run of the recorded branch with our input, and its id is kept', async () => {
  await open()
  const paused = await pausedRun(world, { resumeWith: 'workflow_dispatch' })
  world.onJob = async ({ environment }) => {
    // An attach is let in once the id that GitHub answered is recorded.
    while (row(paused)?.payload['dispatchedRun'] === undefined) await setImmediate()
    const { inputs } = JSON.parse(readFileSync(environment['GITHUB_EVENT_PATH'] ?? '', 'utf8'))
    expect(inputs).toEqual({ 'agentctl-run': paused.run })
    attachAgain(world, paused.run, Number(environment['GITHUB_RUN_ID']), 1)
  }
  await approve(paused)
  expect(world.github.requests.count(dispatches)).toBe(1)
  expect(row(paused)?.payload['dispatchedRun']).toBe(world.github.runs.all.at(-1)?.id)
  expect(recordOf(world, paused.run).state).toBe('running')
})

test('a run that cannot be retried falls back to a dispatch', async () => {
  await open()
  const paused = await pausedRun(world)
  world.github.faults.add({ route: rerunJob, status: 403, message: 'This workflow run cannot be retried' })
  world.onJob = async ({ environment }) => {
    while (row(paused)?.payload['dispatchedRun'] === undefined) await setImmediate()
    attachAgain(world, paused.run, Number(environment['GITHUB_RUN_ID']), 1)
  }
  await approve(paused)
  expect(world.github.requests.count(dispatches)).toBe(1)
  expect(recordOf(world, paused.run).state).toBe('running')
})

test.each<[string, (paused: Paused) => void, RegExp]>([
  [
    'too old and the branch moved on',
    () => {
      world.repository.commit({ files: { 'a.txt': 'a' } })
      world.clock.advance(31 * 86_400)
    },
    /older than 30 days/,
  ],
  ['workflow disabled', () => world.repository.disableWorkflow('.github/workflows/release.yml'), /not active/],
])(
  'nothing possible (%s): the resolution stands, nothing runs, the issue says why and what to do',
  async (_name, change, reason) => {
    await open()
    const paused = await pausedRun(world, { expiresInSeconds: 29 * 86_400 })
    await world.settle()
    world.github.comment(paused.issue, world.people.alice, '/approve')
    world.github.faults.add({ route: 'GET /repos/{owner}/{repo}/actions/runs/{run_id}', status: 502, times: 1 })
    await world.settle()
    change(paused)
    world.clock.advance(120)
    await world.settle()
    world.clock.advance(4000)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
    expect(starts(world)).toBe(0)
    expect(status(paused)).toMatch(reason)
    expect(status(paused)).toContain('Nothing runs by itself')
  },
)

test('a newer run of the same workflow and branch is named; with refuse it stops the re-dispatch', async () => {
  await open()
  for (const onSuperseded of ['warn', 'refuse'] as const) {
    world.clock.advance(120)
    const paused = await pausedRun(world, { settings: { onSuperseded } })
    world.clock.advance(60)
    const newer = await world.startRun()
    const before = starts(world)
    await approve(paused)
    expect(starts(world) - before, onSuperseded).toBe(onSuperseded === 'warn' ? 1 : 0)
    expect(status(paused), onSuperseded).toContain(`/actions/runs/${newer.id}`)
  }
})

test('rerun-failed-jobs is one call where every failed job is a resolved pause', async () => {
  await open({ matrix: ['a', 'b'] })
  const handle = await world.startRun()
  const pauses = ['a', 'b'].map(part => recordPause(world, handle, { job: `release (${part})` }))
  const issues = pauses.map(({ run }) => openIssue(world, run))
  for (const [index, { run, pause }] of pauses.entries()) {
    await verifyRegistration(world.context, run, pause, issues[index]?.number ?? 0)
  }
  await world.settle()
  // Both are decided before anything is asked of Actions.
  world.github.faults.add({ route: 'GET /repos/{owner}/{repo}/actions/runs/{run_id}', status: 502, times: 2 })
  for (const issue of issues) world.github.comment(issue, world.people.alice, '/approve')
  await world.settle()
  world.clock.advance(60)
  await world.settle()
  expect(world.github.requests.count(rerunFailed)).toBe(1)
  expect(world.github.requests.count(rerunJob)).toBe(0)
  expect(pauses.map(({ run }) => recordOf(world, run).state)).toEqual(['running', 'running'])
})
