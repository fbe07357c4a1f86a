import { afterEach, beforeEach, expect, test } from 'vitest'
import { outcomes, ownComments, pausedRun, pauseOf, recordOf, resumeReruns, starts } from './pauses.ts'
import { startWorld, type World } from './world.ts'

let world: World

beforeEach(async () => {
  world = await startWorld()
  resumeReruns(world)
})
afterEach(() => world.close())

test('closed by somebody who may cancel: cancelled by them', async () => {
  const paused = await pausedRun(world)
  world.github.closeIssue(paused.issue, world.people.bob)
  await world.settle()
  expect(recordOf(world, paused.run).state).toBe('cancelled')
  expect(outcomes(world, paused.pause)).toEqual(['cancelled'])
  expect(ownComments(world, paused.issue).join()).toContain('cancelled by `bob`')
  expect(starts(world)).toBe(0)
})

test('closed by anybody else: reopened once with the reason, then left closed, the pause still open', async () => {
  const paused = await pausedRun(world)
  world.github.closeIssue(paused.issue, world.people.triager)
  await world.settle()
  expect(paused.issue.state).toBe('open')
  expect(ownComments(world, paused.issue)).toHaveLength(1)
  expect(ownComments(world, paused.issue)[0]).toContain('closed by `triager`, who may not stop the run')
  world.github.closeIssue(paused.issue, world.people.triager)
  await world.settle()
  expect(paused.issue.state).toBe('closed')
  expect(pauseOf(world, paused.pause).state).toBe('open')
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  expect(ownComments(world, paused.issue).join()).toContain('this issue is closed')
})

test('closed by a commit of somebody who may cancel: not a cancellation', async () => {
  const paused = await pausedRun(world)
  world.github.closeIssue(paused.issue, world.people.bob, world.repository.head().sha)
  await world.settle()
  expect(recordOf(world, paused.run).state).toBe('paused')
  expect(paused.issue.state).toBe('open')
})

test('closed by a bot: reopened', async () => {
  const bot = world.github.users.add({ login: 'stale[bot]', type: 'Bot' })
  world.repository.setCollaborator('stale[bot]', 'admin')
  const paused = await pausedRun(world)
  world.github.closeIssue(paused.issue, bot)
  await world.settle()
  expect(recordOf(world, paused.run).state).toBe('paused')
  expect(paused.issue.state).toBe('open')
})

test.each(['deleted', 'transferred'])('%s: void, the pause stays, a new request is opened and decides', async fate => {
  const other = world.github.repositories.add({ name: 'org/other' })
  const paused = await pausedRun(world)
  if (fate === 'deleted') world.github.deleteIssue(paused.issue, world.people.owner)
  else world.github.transferIssue(paused.issue, other, world.people.owner)
  await world.settle()
  const registered = pauseOf(world, paused.pause).issue
  expect(registered?.number).toBeGreaterThan(paused.issue.number)
  const issue = world.issue(registered?.number ?? 0)
  expect(issue.user.id).toBe(world.github.app.botId)
  world.github.comment(issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
  expect(starts(world)).toBe(1)
})

test('a new title voids nothing', async () => {
  const paused = await pausedRun(world)
  world.github.editIssue(paused.issue, { title: 'Please look at this' }, world.people.alice)
  await world.settle()
  expect(pauseOf(world, paused.pause).issue?.number).toBe(paused.issue.number)
})

test('issues disabled while the issue is void: the pause stays and can be resolved, the dead letter is kept', async () => {
  const paused = await pausedRun(world)
  await world.settle()
  world.github.deleteIssue(paused.issue, world.people.owner)
  world.repository.set({ hasIssues: false })
  for (let round = 0; round < 5; round++) {
    await world.settle()
    world.clock.advance(3600)
  }
  expect(pauseOf(world, paused.pause)).toMatchObject({ state: 'open', issue: null })
  const dead = world.store.outboxRows({ state: 'dead' })
  expect(dead.map(({ kind }) => kind)).toEqual(['replacement'])
  world.repository.set({ hasIssues: true })
  world.store.retryOutbox(dead[0]?.id ?? '')
  await world.settle()
  expect(pauseOf(world, paused.pause).issue).not.toBeNull()
})

test('a pull request’s people find the issue by one comment, and its head carries the status', async () => {
  world.repository.commit({ branch: 'topic', files: { 'a.txt': 'a' } })
  const pull = world.repository.pull({ title: 'Topic', user: world.people.alice, head: 'topic' })
  const paused = await pausedRun(world, { pullRequest: pull.number })
  await world.settle()
  expect(ownComments(world, pull)).toHaveLength(1)
  expect(ownComments(world, pull)[0]).toContain(`issue #${paused.issue.number}`)
  const status = world.repository.record.statuses.at(-1)
  expect(status).toMatchObject({ context: 'agentctl/release', state: 'pending' })
  expect(status?.targetUrl).toContain(`/issues/${paused.issue.number}`)
})
