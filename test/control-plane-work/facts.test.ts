import { afterEach, expect, test } from 'vitest'
import { notes, outcomes, ownComments, pausedRun, pauseOf, recordOf, resumeReruns, starts } from './pauses.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

let world: World

async function open(options: WorldOptions = {}): Promise<void> {
  world = await startWorld(options)
  resumeReruns(world)
}
afterEach(() => world.close())

const floor = (spec: object) =>
  JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'floor' }, spec })
const floorPath = '.github/agentctl/floor.yaml'
const permissionRoute = 'GET /repos/{owner}/{repo}/collaborators/{username}/permission'

test.each([[404], [500], [403]])(
  'case 11: the permission answers %d: not eligible now, retried, then counted',
  async status => {
    await open()
    const paused = await pausedRun(world)
    await world.settle()
    world.github.faults.add({ route: permissionRoute, status, message: 'no' })
    const comment = world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null])
    expect(notes(world, paused.run)).toEqual([])
    expect(comment.reactions.map(({ content }) => content)).toEqual(['eyes'])
    world.clock.advance(60)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
  },
)

test('case 11: an account that is gone is asked about for hours, then given up, never counted', async () => {
  await open()
  const paused = await pausedRun(world)
  const gone = world.github.users.add('gone')
  world.github.comment(paused.issue, gone, '/approve')
  world.github.faults.add({ route: permissionRoute, status: 404, message: 'Not Found', times: 1000 })
  for (let hour = 0; hour < 30; hour++) {
    await world.settle()
    world.clock.advance(3600)
  }
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  expect(world.store.dueInbox()).toEqual([])
  expect(world.logged.join()).toContain('inbox.given_up')
})

test('a login that passed to another account does not decide for it', async () => {
  await open()
  const paused = await pausedRun(world)
  world.github.deliveries.hold()
  world.github.comment(paused.issue, world.people.alice, '/approve')
  world.github.users.rename(world.people.alice, 'alice-gone')
  world.github.users.add({ login: 'alice' })
  world.repository.setCollaborator('alice', 'admin')
  await world.github.deliveries.release()
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
})

test('case 12: an edited body voids the issue for good, restored or not, and a new request is posted', async () => {
  await open()
  const paused = await pausedRun(world)
  await world.settle()
  const before = paused.issue.body
  world.github.deliveries.lose(delivery => delivery.event === 'issues' && delivery.action === 'edited', 2)
  world.github.editIssue(paused.issue, { body: `${before}\nharmless` }, world.people.owner)
  world.github.editIssue(paused.issue, { body: before }, world.people.owner)
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  const replacement = pauseOf(world, paused.pause).issue
  expect(replacement?.number).not.toBe(paused.issue.number)
  const issue = world.issue(replacement?.number ?? 0)
  expect(issue).toMatchObject({ state: 'open', user: { id: world.github.app.botId } })
  expect(paused.issue.state).toBe('closed')
  expect(ownComments(world, paused.issue).join()).toContain(`issue #${issue.number}`)
  world.github.comment(issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
})

test('case 14: an expiry is recorded as one, the issue closed as expired, a late /approve told so', async () => {
  await open()
  const paused = await pausedRun(world, { expiresInSeconds: 3600 })
  await world.settle()
  world.clock.advance(3601)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['expired'])
  expect(recordOf(world, paused.run).state).toBe('denied')
  expect(paused.issue).toMatchObject({ state: 'closed', stateReason: 'not_planned' })
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['expired'])
  expect(ownComments(world, paused.issue).join()).toContain('recorded as expired')
  expect(starts(world)).toBe(0)
})

test('a comment made in time and delivered after the expiry does not count', async () => {
  await open()
  const paused = await pausedRun(world, { expiresInSeconds: 3600 })
  await world.settle()
  world.github.deliveries.hold()
  world.github.comment(paused.issue, world.people.alice, '/approve')
  world.clock.advance(3601)
  await world.github.deliveries.release()
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['expired'])
})

test('the stricter of the floors at the pause and now binds', async () => {
  await open()
  const paused = await pausedRun(world)
  world.repository.commit({
    files: { [floorPath]: floor({ minimumApprovals: 2, approvers: { permission: 'write' } }) },
  })
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  world.github.comment(paused.issue, world.people.bob, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
})

test('a floor that cannot be read decides nothing until it can', async () => {
  await open({ files: { [floorPath]: 'kind: [' } })
  const paused = await pausedRun(world)
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  world.repository.commit({ files: { [floorPath]: null } })
  world.clock.advance(300)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
})

test('the organisation’s floor binds too', async () => {
  const files = { [floorPath]: floor({ approvers: { users: ['bob'], permission: 'read' } }) }
  await open({ others: { 'org/.github': files } })
  const paused = await pausedRun(world)
  world.github.comment(paused.issue, world.people.alice, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  world.github.comment(paused.issue, world.people.bob, '/approve')
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
})

test('case 7: a member of a large team, as the 101st comment, with pages out of order', async () => {
  await open()
  const many = Array.from({ length: 150 }, (_, index) => `member-${index}`)
  world.github.teams.add({ org: 'org', slug: 'large', members: [...many, { user: 'pending', state: 'pending' }] })
  for (const login of ['member-149', 'pending']) world.repository.setCollaborator(login, 'write')
  const paused = await pausedRun(world, { settings: { teams: ['org/large'] } })
  world.github.deliveries.lose(delivery => delivery.event === 'issue_comment', 1000)
  for (let count = 0; count < 100; count++) world.github.comment(paused.issue, world.people.owner, `comment ${count}`)
  world.github.comment(paused.issue, world.github.users.ensure('pending'), '/approve')
  await world.settle()
  world.github.faults.add({ route: 'GET /repos/{owner}/{repo}/issues/comments', shuffle: true, times: 10 })
  world.clock.advance(3601)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual([null])
  world.github.comment(paused.issue, world.github.users.ensure('member-149'), '/approve')
  world.clock.advance(3601)
  await world.settle()
  expect(outcomes(world, paused.pause)).toEqual(['approved'])
})

test('a listed login belongs to the account that first decided under it', async () => {
  await open()
  const settings = { users: [{ login: 'alice', id: null }], minimumApprovals: 2 }
  const first = await pausedRun(world, { settings })
  world.github.comment(first.issue, world.people.alice, '/approve')
  await world.settle()
  world.github.users.rename(world.people.alice, 'alice-renamed')
  const other = world.github.users.add({ login: 'alice' })
  world.repository.setCollaborator('alice', 'write')
  const second = await pausedRun(world, { settings: { ...settings, minimumApprovals: 1 } })
  world.github.comment(second.issue, other, '/approve')
  await world.settle()
  expect(outcomes(world, second.pause)).toEqual([null])
  expect(ownComments(world, second.issue).join()).toContain('another account')
})
