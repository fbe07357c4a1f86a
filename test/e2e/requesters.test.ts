import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GitHubDouble, startGitHub } from '../github/index.ts'
import { type Asked, type AskingOptions, type AskingRepository, askingRepository } from '../harness/asking.ts'
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts'

let github: GitHubDouble
let plane: ControlPlane
let count = 0

beforeAll(async () => {
  // One installation for all repositories of this file: GitHub's pace is another file's subject.
  github = await startGitHub({ limits: { contentPerMinute: 10_000, contentPerHour: 10_000 } })
  plane = await startControlPlane(github)
})
afterAll(async () => {
  await plane.close()
  await github.close()
})

const writers = ['ann', 'ben', 'cid', 'dan', 'eve', 'fay'] as const
const place = (options: AskingOptions = {}): AskingRepository =>
  askingRepository(github, plane, {
    name: `octo/requesters-${++count}`,
    collaborators: Object.fromEntries(writers.map(login => [login, 'write'])),
    ...options,
  })
const person = (login: string) => github.users.ensure(login)
const settings = { preventSelfApproval: true, minimumApprovals: 50 }

/** Everybody approves; the set is whoever is refused as having caused the run. */
async function requestersOf(asked: Asked): Promise<string[]> {
  for (const login of ['starter', ...writers]) await asked.say(login, '/approve')
  await asked.judged()
  const voters = await asked.voters()
  expect(await asked.notes()).toEqual(Array(writers.length + 1 - voters.length).fill('requester'))
  return ['starter', ...writers].filter(login => !voters.includes(login))
}

describe('who caused a run may not approve it (preventSelfApproval)', () => {
  test('off by default without a floor', async () => {
    const asked = await place().ask()
    await asked.say('starter', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('on by default with one', async () => {
    const floor = { apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'floor' }, spec: {} }
    const asked = await place({ files: { '.github/agentctl/floor.yaml': JSON.stringify(floor) } }).ask()
    const comment = await asked.say('starter', '/approve')
    await github.until(() => comment.reactions.length > 0 && asked.replies().length > 0)
    expect(await asked.outcomes()).toEqual([null])
    expect(asked.replies().join()).toContain('whoever caused the run may not decide')
    await asked.say('ann', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('nor reject it', async () => {
    const asked = await place().ask({ settings: { preventSelfApproval: true } })
    await asked.say('starter', '/reject')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    await asked.say('starter', '/cancel')
    expect(await asked.decided()).toEqual(['cancelled'])
  })

  test('a dispatch: its actor', async () => {
    const there = place()
    const asked = await there.ask({ settings, start: { event: 'workflow_dispatch', actor: 'cid' } })
    expect(await requestersOf(asked)).toEqual(['cid'])
  })

  test('a push: its actor, authors and committers of what is new since the last run', async () => {
    const there = place()
    await there.ask({ start: { actor: 'fay' } })
    const commit = (path: string, author: string, committer = author) =>
      there.repository.commit({ files: { [path]: path }, author: person(author), committer: person(committer) })
    commit('a.txt', 'ann')
    commit('b.txt', 'ben', 'cid')
    commit('c.txt', 'ann')
    const asked = await there.ask({ settings })
    expect(await requestersOf(asked)).toEqual(['starter', 'ann', 'ben', 'cid'])
  })

  test('a first push: the people of its head', async () => {
    const there = place()
    there.repository.commit({ files: { 'a.txt': 'a' }, author: person('dan'), committer: person('eve') })
    expect(await requestersOf(await there.ask({ settings }))).toEqual(['starter', 'dan', 'eve'])
  })

  test('a new branch: the people of everything that the default branch has not', async () => {
    const there = place()
    there.repository.commit({ branch: 'topic', files: { 'a.txt': 'a' }, author: person('ann') })
    there.repository.commit({ branch: 'topic', files: { 'b.txt': 'b' }, author: person('ben') })
    expect(await requestersOf(await there.ask({ settings, start: { ref: 'topic' } }))).toEqual([
      'starter',
      'ann',
      'ben',
    ])
  })

  test('a branch pushed over: the people of what stands there now', async () => {
    const there = place()
    const base = there.repository.head().sha
    there.repository.commit({ branch: 'topic', files: { 'a.txt': 'a' }, author: person('ann') })
    await there.ask({ start: { ref: 'topic' } })
    there.repository.moveBranch('topic', base)
    there.repository.commit({ branch: 'topic', files: { 'b.txt': 'b' }, author: person('ben') })
    there.repository.commit({ branch: 'topic', files: { 'c.txt': 'c' }, author: person('cid') })
    expect(await requestersOf(await there.ask({ settings, start: { ref: 'topic' } }))).toEqual([
      'starter',
      'ben',
      'cid',
    ])
  })

  test('a pull request: whoever opened it, and the people of its commits', async () => {
    const there = place()
    there.repository.commit({ branch: 'topic', files: { 'a.txt': 'a' }, author: person('ben') })
    there.repository.commit({
      branch: 'topic',
      files: { 'b.txt': 'b' },
      author: person('cid'),
      committer: person('dan'),
    })
    const pull = there.repository.pull({ title: 'Topic', user: person('ann'), head: 'topic' })
    const asked = await there.ask({ settings, start: { event: 'pull_request', pull } })
    expect(await requestersOf(asked)).toEqual(['starter', 'ann', 'ben', 'cid', 'dan'])
  })

  test('commits of unknown authors make nobody one, and hide nobody', async () => {
    const there = place()
    const unknown = { name: 'nobody', email: 'nobody@example.org', user: null }
    there.repository.commit({ files: { 'a.txt': 'a' }, author: unknown, committer: person('eve') })
    expect(await requestersOf(await there.ask({ settings }))).toEqual(['starter', 'eve'])
  })

  test('a renamed requester is still one', async () => {
    const there = place({ collaborators: { shy: 'write' } })
    const asked = await there.ask({ settings: { preventSelfApproval: true }, start: { actor: 'shy' } })
    github.users.rename(person('shy'), 'bold')
    await asked.say('bold', '/approve')
    await asked.judged()
    expect(await asked.notes()).toEqual(['requester'])
  })

  test('the set grows with every attempt: whoever re-runs the waiting job becomes one', async () => {
    const there = place()
    const asked = await there.ask({ settings })
    const { run } =
      github.runs.all.filter(one => one.repository.id === there.repository.id).map(run => ({ run }))[0] ?? {}
    if (run === undefined) throw new Error('no run')
    github.runs.rerun(run, person('ben'))
    await github.until(() => there.resumed.length === 1)
    await github.until(() => run.attempts.at(-1)?.status === 'completed')
    expect(there.resumed).toMatchObject([{ outcome: 'pending', run: asked.run }])
    expect(await requestersOf(asked)).toEqual(['starter', 'ben'])
  })
})

describe('bots', () => {
  const bot = () => github.users.find('renovate[bot]') ?? github.users.add({ login: 'renovate[bot]', type: 'Bot' })

  test('where only bots caused the run, two people must agree', async () => {
    const there = place()
    there.repository.commit({
      files: { 'a.txt': 'a' },
      author: { name: 'renovate', email: 'bot@renovateapp.com', user: bot() },
    })
    const asked = await there.ask({ settings: { preventSelfApproval: true }, start: { actor: bot() } })
    expect(asked.issue.body).toMatch(/2|two/)
    await asked.say('ann', '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    await asked.say('ben', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('a person among them is enough for one approval', async () => {
    const there = place()
    there.repository.commit({ files: { 'a.txt': 'a' }, author: person('eve') })
    const asked = await there.ask({ settings: { preventSelfApproval: true }, start: { actor: bot() } })
    await asked.say('eve', '/approve')
    await asked.say('ann', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
    expect(await asked.notes()).toEqual(['requester'])
  })

  test('our own bot’s re-run and dispatch stand for whoever caused the run before', async () => {
    const there = place({ takeDispatched: true })
    const tasks = [{ id: 'first' }, { id: 'second', needs: ['first'] }]
    const asked = await there.ask({
      settings: { preventSelfApproval: true },
      tasks,
      start: { event: 'workflow_dispatch', actor: 'cid' },
      resumeWith: 'workflow_dispatch',
    })
    await asked.say('ann', '/approve')
    const job = await there.next()
    const { run } = github.runs.findJob(job.job.id)
    expect(run.actor.id).toBe(github.app.botId)
    const at = await there.client.attach(job, { agentctlRun: asked.run })
    expect(at).toMatchObject({ outcome: 'resume', run: asked.run })
    const again = await there.pause(job, at, { tasks: [{ id: 'second' }] })
    await again.say('cid', '/approve')
    await again.judged()
    expect(await again.outcomes()).toEqual([null])
    await again.say('ben', '/approve')
    await github.until(() => again.issue.state === 'closed')
    expect(await again.outcomes()).toEqual(['approved'])
    expect((await again.notes()).filter(code => code === 'requester')).toEqual(['requester'])
  })
})
