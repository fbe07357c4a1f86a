import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { Fault, Issue, Workflow } from '../github/index.ts'
import { counted, gatedWrite, openStage, type Play, type PlayOptions, type Stage } from './stage.ts'

/** At most one registered issue per pause, and it counts only as long as it shows what was rendered (04, Pausing 3). */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

const list = 'GET /repos/{owner}/{repo}/issues'
const create = 'POST /repos/{owner}/{repo}/issues'
const github = () => stage.scene.github

/** Kills the job's first process at the moment of its first such call; `drop: after` lets GitHub do the work all the same. */
async function killedAt(route: string, drop: 'before' | 'after', options: Partial<PlayOptions> = {}): Promise<Play> {
  let kill = () => {}
  const fault: Fault = {
    route: call => {
      if (call.route !== route || !call.caller.startsWith('job')) return false
      kill()
      return true
    },
    drop,
  }
  github().faults.add(fault)
  const play = await stage.begin({
    spec: gatedWrite,
    ...options,
    onProcess: process => {
      // The post step would see to the issue (test/action/cancel-attached.test.ts): here the whole runner is lost.
      if (process.phase === 'post' && process.job.attempt === 1) process.kill('SIGKILL')
      else kill = () => process.kill('SIGKILL')
    },
  })
  expect(play.step()).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
  expect(github().faults.pending).toEqual([])
  return play
}

/** The number that the control plane has registered last, from the run's trail. */
async function registeredIssue(play: Play): Promise<number | null> {
  const registered = (await play.events()).filter(({ type }) => type === 'pause.registered').at(-1)
  return (registered?.data as { issueNumber: number } | undefined)?.issueNumber ?? null
}

async function resumesFrom(play: Play, issue: Issue): Promise<void> {
  await play.decide('/approve', issue)
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  expect(play.file('out/approved.txt')).toBe('approved by a person')
  const events = await play.events()
  expect(counted(events)).toMatchObject({ 'effect.started': 1, 'approval.resolved': 1 })
}

describe('a crash between the steps: exactly one registered issue', () => {
  test('between the pause in the ledger and the issue', async () => {
    const play = await killedAt(list, 'before')
    expect(play.issues()).toEqual([])
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
    expect(play.issues().map(({ number }) => number)).toEqual([1])
    expect(counted(await play.events())).toMatchObject({ 'run.paused': 1, 'pause.registered': 1 })
    await resumesFrom(play, await play.issue())
  })

  test('between the issue and its registration', async () => {
    const play = await killedAt(create, 'after')
    expect(play.issues()).toHaveLength(1)
    await play.again()
    expect(play.step().outputs['approval-issue-number']).toBe('1')
    expect(play.step().log).toContain('found approval issue #1')
    expect(play.issues()).toHaveLength(1)
    expect(counted(await play.events())).toMatchObject({ 'pause.registered': 1 })
    await resumesFrom(play, await play.issue())
  })

  test('and the list lags: the newer one counts, the older is closed with a link and decides nothing', async () => {
    const play = await killedAt(create, 'after')
    const first = await play.issue()
    github().faults.add({
      route: call => call.route === list && call.caller.startsWith('job'),
      omit: () => true,
    })
    await play.again()
    expect(play.step().outputs['approval-issue-number']).toBe('2')
    await closedWithLink(first, 2)
    play.say(first, 'bob', '/approve')
    expect(await registeredIssue(play)).toBe(2)
    await resumesFrom(play, await play.issue(2))
    expect(play.handle.run.attempts).toHaveLength(3)
  })

  test('and somebody edits it meanwhile: it never counts, a new one does', async () => {
    const play = await killedAt(create, 'after')
    const first = await play.issue()
    const body = first.body
    github().editIssue(first, { body: `${body}\nAlready agreed.` }, github().users.ensure('alice'))
    github().editIssue(first, { body }, github().users.ensure('alice'))
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '2' } })
    await closedWithLink(first, 2)
    await resumesFrom(play, await play.issue(2))
  })
})

async function closedWithLink(issue: Issue, to: number): Promise<void> {
  await github().until(() => issue.state === 'closed')
  expect(issue.comments.map(comment => comment.body).join()).toContain(`issue #${to}`)
}

describe('a marker in an issue that is not the registered one', () => {
  test.each(['a person', 'another bot', 'another workflow of this repository'])('opened before by %s', async who => {
    const play = await killedAt(list, 'before')
    const { body } = await play.ask('/runs')
    const [run] = body['items'] as { run: string; pause: string }[]
    const users = github().users
    const author =
      who === 'a person'
        ? users.ensure('mallory')
        : (users.find(who === 'another bot' ? 'robot[bot]' : 'github-actions[bot]') ??
          users.add({ login: 'robot[bot]', type: 'Bot' }))
    const forged = github().openIssue(play.repository, author, {
      title: 'Please approve',
      body: `<!-- agentctl:pause=${run?.pause} -->\nHarmless.`,
    })
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '2' } })
    await closedWithLink(forged, 2)
    await resumesFrom(play, await play.issue(2))
  })

  test('opened after as a copy: closed with a link, an approval on it does nothing', async () => {
    const play = await stage.begin({ spec: gatedWrite })
    const real = await play.issue()
    const copies = ['mallory', 'github-actions[bot]'].map(login =>
      github().openIssue(play.repository, github().users.ensure(login), { title: real.title, body: real.body }),
    )
    for (const copy of copies) {
      play.say(copy, 'bob', '/approve')
      await closedWithLink(copy, real.number)
    }
    expect(real.state).toBe('open')
    expect(play.handle.run.attempts).toHaveLength(1)
    await resumesFrom(play, real)
  })
})

describe('the registered issue is no longer what was rendered: void for good, a new request decides', () => {
  test.each<[string, (play: Play, issue: Issue) => void]>([
    ['edited', (_, issue) => github().editIssue(issue, { body: `${issue.body}\nx` }, github().users.ensure('alice'))],
    [
      'edited and restored',
      (_, issue) => {
        const { body } = issue
        github().editIssue(issue, { body: 'x' }, github().users.ensure('alice'))
        github().editIssue(issue, { body }, github().users.ensure('alice'))
      },
    ],
    ['deleted', (play, issue) => github().deleteIssue(issue, play.repository.record.owner)],
    [
      'transferred',
      (play, issue) => {
        const other = github().repositories.add({ name: `${play.repository.record.owner.login}/other` })
        github().transferIssue(issue, other, play.repository.record.owner)
      },
    ],
  ])('%s', async (_, change) => {
    const play = await stage.begin({ spec: gatedWrite })
    const first = await play.issue()
    change(play, first)
    const second = await play.issue(2)
    expect(second.user.id).toBe(github().app.botId)
    if (first.gone === null) await closedWithLink(first, second.number)
    expect(await registeredIssue(play)).toBe(second.number)
    expect(play.handle.run.attempts).toHaveLength(1)
    await resumesFrom(play, second)
    expect(counted(await play.events())).toMatchObject({ 'issue.voided': 1, 'run.paused': 1 })
  })
})

const withoutIssues = (workflow: Workflow): Workflow => ({
  ...workflow,
  permissions: { contents: 'read', 'id-token': 'write' },
})

test.each<[string, string, Partial<PlayOptions>, Fault | null]>([
  ['issues disabled', 'issues_disabled', { repository: { hasIssues: false } }, null],
  ['no permission for issues', 'missing_permission', { workflow: withoutIssues }, null],
  ['an archived repository', 'archived', { repository: { archived: true } }, null],
  [
    'a secondary rate limit',
    'rate_limited',
    {},
    {
      route: create,
      status: 403,
      message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.',
      headers: { 'retry-after': '600' },
    },
  ],
])('%s: a named error; the pause stays, is listed and can be resolved by API', async (_, code, options, fault) => {
  if (fault !== null) github().faults.add(fault)
  const play = await stage.begin({ spec: gatedWrite, ...options })
  expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '' } })
  expect(play.step().annotations).toContainEqual(
    expect.objectContaining({ level: 'error', title: code, message: expect.stringContaining('The pause is recorded') }),
  )
  expect(github().faults.pending).toEqual([])
  expect(play.issues()).toEqual([])

  const { body } = await play.ask('/approvals')
  const [waiting] = body['items'] as (JsonObject & { id: string; bodyDigest: string })[]
  expect(waiting).toMatchObject({ task: 'gated', resolution: null })
  play.repository.set({ archived: false })
  const word: JsonObject = { outcome: 'approved', reason: 'seen on the page', bodyDigest: waiting?.bodyDigest ?? '' }
  const refused = await play.ask(`/approvals/${waiting?.id}/resolution`, { login: 'dave', body: word })
  expect(refused.status).toBe(403)
  const resolved = await play.ask(`/approvals/${waiting?.id}/resolution`, { login: 'bob', body: word })
  expect(resolved).toMatchObject({ status: 200, body: { resolution: { outcome: 'approved', via: 'api' } } })
  await github().until(() => play.handle.run.attempts.length === 2)
  await play.handle.completed()
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  expect(play.file('out/approved.txt')).toBe('approved by a person')
})
