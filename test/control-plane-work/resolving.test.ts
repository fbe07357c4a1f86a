import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ResolveInput } from '../../control-plane/repository/handle.ts'
import { renderPause } from '../../control-plane/repository/issue.ts'
import { resolveRequest } from '../../control-plane/work/index.ts'
import { outcomes, pausedRun, pauseOf, recordOf, recordPause, resumeReruns, starts } from './pauses.ts'
import { startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
beforeEach(() => {
  resumeReruns(world)
  world.github.requests.clear()
  world.clock.advance(61)
})
afterAll(() => world.close())

function request(pause: string, change: Partial<ResolveInput> = {}): Promise<{ ok: boolean; refusal?: object }> {
  const { items, issue } = pauseOf(world, pause)
  return resolveRequest(world.context, {
    approval: items[0]?.id ?? '',
    outcome: 'approved',
    reason: 'read it',
    bodyDigest: issue?.bodyDigest ?? '',
    person: { id: world.people.alice.id, login: 'alice' },
    via: 'api',
    ...change,
  })
}

describe('a resolution by API', () => {
  test('counts as a comment does, and re-dispatches once', async () => {
    const { pause, run } = await pausedRun(world)
    expect(await request(pause)).toMatchObject({ ok: true, value: { resolution: { outcome: 'approved', via: 'api' } } })
    await world.settle()
    expect(starts(world)).toBe(1)
    expect(recordOf(world, run).state).toBe('running')
    expect(await request(pause)).toMatchObject({ ok: false, refusal: { status: 409, code: 'already_approved' } })
  })

  test('a rejection ends the run', async () => {
    const { pause, run } = await pausedRun(world)
    expect(await request(pause, { outcome: 'rejected' })).toMatchObject({ ok: true })
    expect(recordOf(world, run).state).toBe('denied')
  })

  test('works where no issue could be opened, on the body that would be', async () => {
    const handle = await world.startRun()
    const { run, pause } = recordPause(world, handle)
    const { bodyDigest } = renderPause(world.context, recordOf(world, run), pauseOf(world, pause))
    expect(await request(pause, { bodyDigest: 'f'.repeat(64) })).toMatchObject({ refusal: { code: 'body_changed' } })
    expect(await request(pause, { bodyDigest })).toMatchObject({ ok: true })
  })

  test.each<[string, Partial<ResolveInput>, number, string]>([
    ['another body', { bodyDigest: 'f'.repeat(64) }, 409, 'body_changed'],
    ['an unknown item', { approval: 'f'.repeat(64) }, 404, 'not_found'],
    ['somebody who may only read', { person: { id: 0, login: 'reader' } }, 403, 'permission_too_low'],
    ['the requester', { person: { id: 0, login: 'owner' } }, 403, 'requester'],
    [
      'a login that belongs to another account now',
      { person: { id: 1, login: 'alice' } },
      503,
      'permission_unavailable',
    ],
  ])('%s is refused', async (_name, change, status, code) => {
    const { pause } = await pausedRun(world, { settings: { preventSelfApproval: true } })
    const person = change.person
    const known = person && person.id === 0 ? { ...person, id: world.github.users.ensure(person.login).id } : person
    const answer = await request(pause, { ...change, ...(known && { person: known }) })
    expect(answer).toMatchObject({ ok: false, refusal: { status, code } })
    expect(outcomes(world, pause)).toEqual([null])
  })

  test('GitHub away is unavailable, never a yes', async () => {
    const { pause } = await pausedRun(world)
    world.github.faults.add({ route: 'GET /repos/{owner}/{repo}/collaborators/{username}/permission', status: 500 })
    expect(await request(pause)).toMatchObject({ ok: false, refusal: { status: 503 } })
    expect(outcomes(world, pause)).toEqual([null])
  })

  test('two at once: one counts, the other hears that it is decided', async () => {
    const { pause } = await pausedRun(world)
    const answers = await Promise.all([request(pause), request(pause, { outcome: 'rejected' })])
    expect(answers.map(({ ok }) => ok).sort()).toEqual([false, true])
  })

  test('after the expiry nothing counts', async () => {
    const { pause } = await pausedRun(world, { expiresInSeconds: 120 })
    world.clock.advance(121)
    expect(await request(pause)).toMatchObject({ ok: false, refusal: { status: 409, code: 'pause_expired' } })
  })
})
