import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { githubLimits } from '../github/limits.ts'
import { inProcess, MovedClock } from '../harness/in-process.ts'
import { counted, gatedWrite, openStage, type Stage } from './stage.ts'

/** GitHub asks to slow down, somewhere on the way: nothing is lost, nothing is taken for a no, and it is done later. */
let stage: Stage
const clock = new MovedClock()
beforeAll(async () => {
  stage = await openStage({ controlPlane: inProcess(clock), github: { clock } })
})
afterAll(() => stage.close())
afterEach(() => {
  github().faults.clear()
  github().limits.settings = { ...githubLimits }
})

const github = () => stage.scene.github
const create = 'POST /repos/{owner}/{repo}/issues'
const rerun = /\/actions\/(?:jobs\/\d+\/rerun|runs\/\d+\/rerun-failed-jobs)$/
const done = (play: Awaited<ReturnType<Stage['begin']>>) =>
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })

/** Lets the time pass that GitHub asked for; a start finds what is due by then. */
async function later(milliseconds: number): Promise<void> {
  clock.advance(milliseconds)
  await stage.scene.controlPlane.restart()
}

test('the job’s token, secondary limit of a second at the issue: waited for, one issue', async () => {
  github().faults.secondaryLimit({ route: create, retryAfterSeconds: 1, status: 429 })
  const play = await stage.begin({ spec: gatedWrite })
  expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
  expect(github().faults.pending).toEqual([])
  expect(play.issues()).toHaveLength(1)
  await play.decide('/approve')
  done(play)
})

test('the repository’s jobs have spent their hour: rate_limited is named, the pause stands, a re-run after the hour opens the issue', async () => {
  github().limits.settings = { ...githubLimits, jobsPerHour: 0 }
  const play = await stage.begin({ spec: gatedWrite })
  expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '' } })
  expect(play.step().annotations).toContainEqual(
    expect.objectContaining({
      level: 'error',
      title: 'rate_limited',
      message: expect.stringContaining('The pause is recorded'),
    }),
  )
  expect(play.issues()).toEqual([])
  const run = play.step().outputs['run-id']
  github().limits.settings = { ...githubLimits }
  await later(3_600_000)
  await play.again()
  expect(play.step()).toMatchObject({
    exitCode: 3,
    outputs: { status: 'paused', 'run-id': run, 'approval-issue-number': '1' },
  })
  await play.decide('/approve')
  done(play)
  expect(counted(await play.events(run))).toMatchObject({ 'run.paused': 1, 'effect.started': 1 })
})

test.each([
  ['with Retry-After', 30],
  ['without', null],
])(
  'the App, secondary limit %s while a decision is judged: the comment counts later, once',
  async (_, retryAfterSeconds) => {
    const play = await stage.begin({ spec: gatedWrite })
    const issue = await play.issue()
    // Everything that judging asks of GitHub is refused once; from then on the control plane keeps quiet by itself.
    github().faults.secondaryLimit({
      route: 'GET /repos/{owner}/{repo}/collaborators/{username}/permission',
      retryAfterSeconds,
    })
    const before = github().requests.count()
    play.say(issue, 'bob', '/approve')
    await github().until(() => github().faults.pending.length === 0)
    await github().deliveries.idle()
    const during = github().requests.count()
    expect(issue.state).toBe('open')
    expect(play.handle.run.attempts).toHaveLength(1)
    expect(during).toBeGreaterThan(before)
    await later((retryAfterSeconds ?? 60) * 1000 + 5_000)
    await github().until(() => play.handle.run.attempts.length === 2, 60_000)
    await play.handle.completed()
    done(play)
    expect(counted(await play.events())).toMatchObject({ 'approval.resolved': 1, 'effect.started': 1 })
  },
)

test('the App’s GraphQL points are spent while a decision is judged: it counts after the reset', async () => {
  const play = await stage.begin({ spec: gatedWrite })
  const issue = await play.issue()
  // An installation of its own: its first GraphQL question meets the limit, REST goes on.
  const installation = github().installations.of(play.repository)
  if (installation === null) throw new Error('not installed')
  github().limits.spend({ installation: installation.id }, 'graphql')
  const asked = () => github().requests.all.filter(({ route }) => route === 'graphql').length
  const before = asked()
  play.say(issue, 'bob', '/approve')
  await github().until(() => asked() > before)
  await github().deliveries.idle()
  expect([issue.state, play.handle.run.attempts.length]).toEqual(['open', 1])
  await later(3_605_000)
  await github().until(() => play.handle.run.attempts.length === 2, 60_000)
  await play.handle.completed()
  done(play)
})

test('the App, primary limit at the re-run: the resolution stands, the job runs again after the reset, once', async () => {
  const play = await stage.begin({ spec: gatedWrite })
  const issue = await play.issue()
  const reset = String(Math.ceil(clock.now().getTime() / 1000) + 1800)
  github().faults.add({
    route: ({ path }) => rerun.test(path),
    status: 403,
    message: 'API rate limit exceeded for installation ID 1.',
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset },
  })
  play.say(issue, 'bob', '/approve')
  await github().until(() => github().faults.pending.length === 0)
  // Meanwhile nothing is asked of GitHub, not even who may read.
  expect(await play.ask('/approvals')).toMatchObject({ status: 503 })
  expect(play.handle.run.attempts).toHaveLength(1)
  await later(1_805_000)
  await github().until(() => play.handle.run.attempts.length === 2, 60_000)
  await play.handle.completed()
  done(play)
  const asked = github().requests.all.filter(
    ({ path, status }) => path.startsWith(`/repos/${play.repository.fullName}/`) && rerun.test(path) && status === 201,
  )
  expect(asked).toHaveLength(1)
})
