import { afterEach, beforeEach, expect, test } from 'vitest'
import { verifyRegistration } from '../../control-plane/work/index.ts'
import { notes, openIssue, outcomes, ownComments, pausedRun, recordPause, resumeReruns, starts } from './pauses.ts'
import { redeliver } from './redelivery.ts'
import { secret, startWorld, type World } from './world.ts'

let world: World

beforeEach(async () => {
  world = await startWorld()
  resumeReruns(world)
})
afterEach(() => world.close())

const votes = (run: string) =>
  [...world.store.exportLines(run)].filter(line => JSON.parse(line).type === 'approval.voted').length

test('case 15: five times at once, and an hour later under a new delivery id: one resolution, one dispatch', async () => {
  const paused = await pausedRun(world)
  world.github.deliveries.hold()
  world.github.comment(paused.issue, world.people.alice, '/approve')
  const [delivery] = world.github.deliveries.of('issue_comment', 'created')
  if (delivery === undefined) throw new Error('nothing to deliver')
  await world.github.deliveries.redeliver(delivery, { count: 5 })
  await world.github.deliveries.release()
  await world.settle()
  world.clock.advance(3600)
  const [again] = await world.github.deliveries.redeliver(delivery, { newId: true })
  await world.settle()
  expect(again).toMatchObject({ status: 202, response: '{"outcome":"duplicate"}' })
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
  expect(votes(paused.run)).toBe(1)
  expect(starts(world)).toBe(1)
})

test('200 concurrent redeliveries of one approving comment, half under new ids: one resolution, one dispatch', () =>
  redeliver(200))

test('case 16: a delivery that found the storage busy works when it is sent again', async () => {
  const paused = await pausedRun(world)
  const deliver = world.service.deliver.bind(world.service)
  let isBusy = true
  world.service.deliver = async delivery => {
    if (isBusy) throw new Error('database is locked')
    return deliver(delivery)
  }
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  const [delivery] = world.github.deliveries.of('issue_comment', 'created')
  expect(delivery?.status).toBe(500)
  isBusy = false
  if (delivery) await world.github.deliveries.redeliver(delivery)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
})

test('case 17: two hooks bring the same comment: one resolution', async () => {
  const { url } = world.github.deliveries.hooks[0] ?? { url: '' }
  world.github.deliveries.addHook({ url, secret: 'former secret', target: { repository: world.repository.id } })
  const paused = await pausedRun(world)
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(world.github.deliveries.of('issue_comment', 'created').filter(({ status }) => status === 202).length).toBe(4)
  expect(votes(paused.run)).toBe(1)
  expect(starts(world)).toBe(1)
})

test('a wrong secret changes nothing', async () => {
  const { url } = world.github.deliveries.hooks[0] ?? { url: '' }
  world.github.deliveries.hooks.length = 0
  world.github.deliveries.addHook({ url, secret: `${secret}!` })
  const paused = await pausedRun(world)
  await world.settle()
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(world.github.deliveries.all.every(({ status }) => status === 401)).toBe(true)
  expect(outcomes(world, paused.pause)).toEqual([null])
})

test('a lost delivery is found within the hour, at most one listing an hour', async () => {
  const paused = await pausedRun(world)
  await world.settle()
  world.github.deliveries.lose(delivery => delivery.event === 'issue_comment')
  world.github.comment(paused.issue, world.people.alice, '/approve')
  world.github.requests.clear()
  for (let minute = 0; minute < 59; minute++) {
    world.clock.advance(60)
    await world.settle()
  }
  expect(outcomes(world, paused.pause)).toEqual([null])
  expect(world.github.requests.all).toEqual([])
  world.clock.advance(120)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
  expect(world.github.requests.count('GET /repos/{owner}/{repo}/issues/comments')).toBe(1)
})

test('while people think, GitHub is asked once an hour', async () => {
  await pausedRun(world)
  await world.settle()
  world.github.requests.clear()
  for (let hour = 0; hour < 24; hour++) {
    world.clock.advance(3600)
    await world.settle()
  }
  const { counts } = world.github.requests
  const asked = Object.entries(counts.call(world.github.requests)).filter(([route]) => !route.includes('/app'))
  expect(Object.fromEntries(asked)).toEqual({ 'GET /repos/{owner}/{repo}/issues/comments': 24 })
})

test('a comment found by reconciliation counts only if never edited', async () => {
  const paused = await pausedRun(world)
  await world.settle()
  world.github.deliveries.lose(delivery => delivery.event === 'issue_comment', 3)
  const comment = world.github.comment(paused.issue, world.people.alice, 'hm')
  world.github.editComment(comment, '/approve', world.people.owner)
  world.clock.advance(3601)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  expect(notes(world, paused.run)).toContain('comment_edited')
  expect(ownComments(world, paused.issue).join()).toContain('it was edited')
})

test.each(['delivered', 'lost'])('a comment made before the issue was registered counts (%s)', async fate => {
  if (fate === 'lost') world.github.deliveries.lose(delivery => delivery.event === 'issue_comment')
  const handle = await world.startRun()
  const { run, pause } = recordPause(world, handle)
  const issue = openIssue(world, run)
  world.github.comment(issue, world.people.alice, '/approve')
  const answer = await verifyRegistration(world.context, run, pause, issue.number)
  expect(answer).toMatchObject({ ok: true, value: { number: issue.number, superseded: false } })
  await world.settle()
  expect(outcomes(world, pause)).toEqual(['approved'])
})
