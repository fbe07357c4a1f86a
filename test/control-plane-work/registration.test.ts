import { afterEach, beforeEach, expect, test } from 'vitest'
import { verifyRegistration } from '../../control-plane/work/index.ts'
import type { Issue, RunHandle } from '../github/index.ts'
import { openIssue, ownComments, pauseOf, recordPause } from './pauses.ts'
import { startWorld, type World } from './world.ts'

let world: World
let handle: RunHandle
let run: string
let pause: string

beforeEach(async () => {
  world = await startWorld()
  handle = await world.startRun()
  const recorded = recordPause(world, handle)
  run = recorded.run
  pause = recorded.pause
})
afterEach(() => world.close())

const register = (issue: Issue) => verifyRegistration(world.context, run, pause, issue.number)

test('an issue that shows what was rendered is registered, with status, link and reconciliation to follow', async () => {
  const issue = openIssue(world, run, body => body.replaceAll('\n', '\r\n'))
  const answer = await register(issue)
  expect(answer).toMatchObject({ ok: true, value: { number: issue.number, superseded: false } })
  expect(pauseOf(world, pause).issue).toMatchObject({ number: issue.number, id: issue.id })
  await world.settle()
  expect(world.repository.record.statuses).toHaveLength(1)
  expect(world.github.requests.count('GET /repos/{owner}/{repo}/issues/comments')).toBe(1)
})

test.each<[string, RegExp, (world: World) => Issue]>([
  ['by a person', /neither github-actions\[bot\] nor our App/, w => copyBy(w, w.people.alice)],
  ['with another body', /its body has digest/, w => openIssue(w, run, body => body.replace('write', 'wrote'))],
  [
    'edited and restored',
    /it was edited at/,
    w => {
      const issue = openIssue(w, run)
      const { body } = issue
      w.github.editIssue(issue, { body: 'x' }, w.people.alice)
      w.github.editIssue(issue, { body }, w.people.alice)
      return issue
    },
  ],
  [
    'closed',
    /it is closed/,
    w => {
      const issue = openIssue(w, run)
      w.github.closeIssue(issue, w.people.alice)
      return issue
    },
  ],
])('an issue %s is refused with the reason', async (_name, reason, open) => {
  const answer = await register(open(world))
  expect(answer.ok ? null : answer.refusal).toMatchObject({ status: 422, code: 'registration_refused' })
  expect(answer.ok ? '' : answer.refusal.message).toMatch(reason)
  expect(pauseOf(world, pause).issue).toBeNull()
})

function copyBy(w: World, user: Issue['user']): Issue {
  const own = openIssue(w, run)
  return w.github.openIssue(w.repository, user, { title: own.title, body: own.body })
}

test('another run’s pause is not found', async () => {
  const issue = openIssue(world, run)
  const answer = await verifyRegistration(world.context, 'another', pause, issue.number)
  expect(answer.ok ? null : answer.refusal.status).toBe(404)
})

test('two attempts at once: one is registered, the other closed with a link', async () => {
  const first = openIssue(world, run)
  const second = openIssue(world, run)
  const answers = await Promise.all([register(first), register(second), register(first)])
  const numbers = answers.map(answer => (answer.ok ? answer.value.number : 0))
  expect(new Set(numbers).size).toBe(1)
  await world.settle()
  const [open] = [first, second].filter(({ state }) => state === 'open')
  const [closed] = [first, second].filter(({ state }) => state === 'closed')
  expect(open?.number).toBe(numbers[0])
  expect(ownComments(world, closed as Issue).join()).toContain(`issue #${open?.number}`)
})

test('a forged issue is closed with a link, before the registration and after', async () => {
  const body = openIssue(world, run).body
  const before = world.github.openIssue(world.repository, world.people.reader, { title: 'Approve me', body })
  const issue = openIssue(world, run)
  await register(issue)
  await world.settle()
  expect(before.state).toBe('closed')
  const after = world.github.openIssue(world.repository, world.people.reader, { title: 'Approve me too', body })
  await world.settle()
  expect(after.state).toBe('closed')
  expect(ownComments(world, after).join()).toContain(`issue #${issue.number}`)
  expect(issue.state).toBe('open')
})

test('GitHub away: the registration is refused as unavailable, and works later', async () => {
  const issue = openIssue(world, run)
  world.github.faults.add({ route: 'graphql', status: 502 })
  const answer = await register(issue)
  expect(answer.ok ? null : answer.refusal.status).toBe(503)
  expect(await register(issue)).toMatchObject({ ok: true })
})

test('a job that ended before it opened its issue: we open one after ten minutes', async () => {
  await world.settle()
  expect(world.repository.issues).toEqual([])
  world.clock.advance(601)
  await world.settle()
  const [issue, ...more] = world.repository.issues
  expect(more).toEqual([])
  expect(issue?.user.id).toBe(world.github.app.botId)
  expect(pauseOf(world, pause).issue?.number).toBe(issue?.number)
})

test('a job that ended between opening and registering: its issue is the one', async () => {
  const issue = openIssue(world, run)
  world.clock.advance(601)
  await world.settle()
  expect(world.repository.issues).toEqual([issue])
  expect(pauseOf(world, pause).issue?.number).toBe(issue.number)
})
