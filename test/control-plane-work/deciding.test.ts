import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { notes, outcomes, ownComments, pausedRun, pauseOf, recordOf, resumeReruns, starts } from './pauses.ts'
import { startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
  world.github.users.add({ login: 'helper[bot]', type: 'Bot' })
  world.repository.setCollaborator('helper[bot]', 'admin')
})
beforeEach(() => {
  resumeReruns(world)
  world.github.requests.clear()
  // Each test begins a new minute: what it may write does not depend on the tests before it.
  world.clock.advance(61)
})
afterEach(() => world.github.assertValid())
afterAll(() => world.close())

const reactions = (comment: { reactions: { content: string }[] }) => comment.reactions.map(({ content }) => content)
const statuses = (sha: string) => world.repository.record.statuses.filter(status => status.sha === sha)

describe('a comment decides', () => {
  test('/approve resolves the pause, re-runs the paused job and closes the issue with its outcome', async () => {
    const paused = await pausedRun(world)
    const comment = world.github.comment(paused.issue, world.people.alice, '/approve looks right')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
    expect(paused.handle.attempt().number).toBe(2)
    expect(recordOf(world, paused.run).state).toBe('running')
    expect(reactions(comment)).toEqual(['+1'])
    expect(paused.issue).toMatchObject({ state: 'closed', stateReason: 'completed' })
    expect(starts(world)).toBe(1)
    const [status, ...more] = ownComments(world, paused.issue)
    expect(more).toEqual([])
    expect(status).toContain('approved by `alice`')
    expect(status).toContain('looks right')
    expect(statuses(paused.handle.run.headSha).at(-1)).toMatchObject({ context: 'agentctl/release', state: 'pending' })
  })

  test('/reject ends the run, dispatches nothing, fails the commit status', async () => {
    const paused = await pausedRun(world)
    world.github.comment(paused.issue, world.people.alice, '/reject not on a Friday')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['rejected'])
    expect(recordOf(world, paused.run).state).toBe('denied')
    expect(starts(world)).toBe(0)
    expect(paused.issue).toMatchObject({ state: 'closed', stateReason: 'not_planned' })
    expect(ownComments(world, paused.issue)[0]).toContain('rejected by `alice`')
    expect(statuses(paused.handle.run.headSha).at(-1)).toMatchObject({ state: 'failure' })
  })

  test('/cancel by somebody with write ends the run; by triage it is refused with the reason', async () => {
    const paused = await pausedRun(world)
    world.github.comment(paused.issue, world.people.triager, '/cancel')
    await world.settle()
    expect(recordOf(world, paused.run).state).toBe('paused')
    expect(ownComments(world, paused.issue).join()).toContain('stopping a run needs write permission')
    world.github.comment(paused.issue, world.people.bob, '/cancel wrong branch')
    await world.settle()
    expect(recordOf(world, paused.run).state).toBe('cancelled')
    expect(outcomes(world, paused.pause)).toEqual(['cancelled'])
    expect(starts(world)).toBe(0)
  })

  test('/status answers with the one status comment, edited in place', async () => {
    const paused = await pausedRun(world, { settings: { minimumApprovals: 2 } })
    world.github.comment(paused.issue, world.people.triager, '/status')
    await world.settle()
    expect(ownComments(world, paused.issue)).toHaveLength(1)
    world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    expect(ownComments(world, paused.issue)).toHaveLength(1)
    expect(ownComments(world, paused.issue)[0]).toContain('1 of 2 approvals, by `alice`')
  })

  test('several items: one by one, and the pause is resolved with the last', async () => {
    const paused = await pausedRun(world, {
      tasks: [{ id: 'one', failure: 'continue' }, { id: 'two', failure: 'continue' }, { id: 'three' }],
    })
    world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null, null, null])
    world.github.comment(paused.issue, world.people.alice, '/approve 1 three fine')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved', null, 'approved'])
    expect(starts(world)).toBe(0)
    world.github.comment(paused.issue, world.people.bob, '/reject #2 no')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved', 'rejected', 'approved'])
    expect(starts(world)).toBe(1)
  })
})

describe('what does not count, each told why', () => {
  test.each([
    ['a reader', 'reader', '/approve', 'write permission is needed', false],
    ['an outsider', 'stranger', '/approve', '', true],
    ['the requester', 'owner', '/approve', 'whoever caused the run may not decide', false],
    ['an unknown item', 'alice', '/approve 99', 'there is no item', false],
  ])('%s', async (_name, login, body, reason, _isStranger) => {
    const paused = await pausedRun(world, { settings: { preventSelfApproval: true } })
    const comment = world.github.comment(paused.issue, world.github.users.ensure(login), body)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null])
    expect(reactions(comment)).toEqual(['confused'])
    const isTriage = login === 'owner' || login === 'alice'
    expect(ownComments(world, paused.issue)).toHaveLength(isTriage ? 1 : 0)
    if (isTriage) expect(ownComments(world, paused.issue)[0]).toContain(reason)
  })

  test('at most one reply for a person and pause, and a decision goes on waiting', async () => {
    const paused = await pausedRun(world)
    for (let count = 0; count < 3; count++) world.github.comment(paused.issue, world.people.triager, '/approve')
    await world.settle()
    expect(ownComments(world, paused.issue)).toHaveLength(1)
    world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
  })

  test('people without triage permission get a reaction only, at most 20 on an issue', async () => {
    const paused = await pausedRun(world)
    const comments = Array.from({ length: 25 }, () =>
      world.github.comment(paused.issue, world.people.reader, '/approve'),
    )
    await world.settle()
    expect(ownComments(world, paused.issue)).toEqual([])
    expect(comments.filter(comment => comment.reactions.length > 0)).toHaveLength(20)
  })

  test('case 1: a maintainer edits an approver’s comment into an approval', async () => {
    const paused = await pausedRun(world)
    const comment = world.github.comment(paused.issue, world.people.alice, 'let me look')
    await world.settle()
    world.github.editComment(comment, '/approve', world.people.owner)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null])
    expect(notes(world, paused.run)).toContain('comment_edited')
  })

  test('an edited command is asked for again; a deleted one keeps the effect that it had', async () => {
    const paused = await pausedRun(world, { settings: { minimumApprovals: 2 } })
    const comment = world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    world.github.deleteComment(comment)
    const other = world.github.comment(paused.issue, world.people.bob, 'hm')
    await world.settle()
    world.github.editComment(other, '/approve')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null])
    expect(ownComments(world, paused.issue).join()).toMatch(/write a new comment/i)
    expect(notes(world, paused.run)).toEqual(expect.arrayContaining(['comment_deleted', 'comment_edited']))
    world.github.comment(paused.issue, world.people.bob, '/approve')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
  })

  test('case 2: one person twice, under two spellings of the login, is one approval', async () => {
    const users = ['Alice', 'alice', 'bob'].map(login => ({ login, id: null }))
    const paused = await pausedRun(world, { settings: { minimumApprovals: 2, users } })
    for (const body of ['/approve', 'lgtm', '/approve all'])
      world.github.comment(paused.issue, world.people.alice, body)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null])
    world.github.comment(paused.issue, world.people.bob, '/approve')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
    expect(pauseOf(world, paused.pause).items[0]?.resolution?.by.map(({ login }) => login)).toEqual(['alice', 'bob'])
  })

  test('case 3: neither our own texts nor any bot’s or App’s', async () => {
    const paused = await pausedRun(world)
    const own = { id: world.github.app.botId, login: 'agentctl-double[bot]' }
    const bot = world.github.users.byId(own.id)
    const helper = world.github.users.ensure('helper[bot]')
    if (bot === null) throw new Error('no bot account')
    world.github.comment(paused.issue, bot, '/approve')
    world.github.comment(paused.issue, helper, '/approve')
    world.github.comment(paused.issue, world.people.actionsBot, paused.issue.body)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual([null])
  })

  test('case 8: two newlines, CRLF and backticks around a command, a quote before it', async () => {
    for (const body of ['/approve\n\n\n', '\r\n`/approve`\r\n', '> /reject\n\n/approve']) {
      const paused = await pausedRun(world)
      world.github.comment(paused.issue, world.people.alice, body)
      await world.settle()
      expect(outcomes(world, paused.pause), JSON.stringify(body)).toEqual(['approved'])
    }
  })

  test('case 10: approved, then rejected by the same person before the quorum: the last word', async () => {
    const paused = await pausedRun(world, { settings: { minimumApprovals: 2 } })
    world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    world.github.comment(paused.issue, world.people.alice, '/reject on second thoughts')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['rejected'])
  })

  test('case 13: a decision on the issue of an older run carries over to nothing', async () => {
    const first = await pausedRun(world)
    world.github.comment(first.issue, world.people.bob, '/cancel')
    await world.settle()
    const second = await pausedRun(world)
    world.github.comment(first.issue, world.people.alice, '/approve')
    await world.settle()
    expect(outcomes(world, first.pause)).toEqual(['cancelled'])
    expect(outcomes(world, second.pause)).toEqual([null])
    expect(ownComments(world, first.issue).join()).toMatch(/no longer waits|decided already/)
  })

  test('a comment too long for the inbox is read from GitHub', async () => {
    const paused = await pausedRun(world)
    world.github.comment(paused.issue, world.people.alice, `/approve ${'x'.repeat(60_000)}`)
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
  })

  test('from the inbox to the committed resolution: two calls to GitHub, one commit', async () => {
    const first = await pausedRun(world)
    world.github.comment(first.issue, world.people.triager, '/status')
    const paused = await pausedRun(world)
    await world.settle()
    world.github.requests.clear()
    const comment = world.github.comment(paused.issue, world.people.alice, '/approve')
    await world.settle()
    // The reaction is the first thing that follows the commit.
    const routes = world.github.requests.all.map(({ route }) => route)
    const committed = routes.findIndex(route => route.includes('/actions/') || route.endsWith('/reactions'))
    expect(routes.slice(0, committed).sort()).toEqual([
      'GET /repos/{owner}/{repo}/collaborators/{username}/permission',
      'graphql',
    ])
    expect(reactions(comment)).toEqual(['+1'])
    const types = [...world.store.exportLines(paused.run)].map(line => JSON.parse(line))
    const decided = types.filter(({ type }) => /^(approval|effect\.approved|pause\.resolved)/.test(type))
    expect(new Set(decided.map(({ at }) => at)).size).toBe(1)
  })

  test('talk and other issues cost no call to GitHub', async () => {
    const paused = await pausedRun(world)
    const other = world.github.openIssue(world.repository, world.people.alice, { title: 'A bug' })
    await world.settle()
    world.github.requests.clear()
    world.github.comment(paused.issue, world.people.alice, 'what is this about?')
    world.github.comment(other, world.people.alice, '/approve')
    await world.settle()
    expect(world.github.requests.counts()).toEqual({})
  })
})
