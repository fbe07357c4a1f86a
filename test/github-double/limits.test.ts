import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LimitSettings } from '../github/limits.ts'
import { at, type Stage, stage, statusOf } from './world.ts'

// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api,
// https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api

let scene: Stage
let now = new Date()
beforeEach(async () => {
  // Whole seconds: the reset is told in them.
  now = new Date(Math.floor(Date.now() / 1000) * 1000)
  scene = await stage({ clock: { now: () => now } })
})
afterEach(() => scene.github.close())

const limit = (settings: Partial<LimitSettings>) => {
  scene.github.limits.settings = { ...scene.github.limits.settings, ...settings }
}
interface Refusal {
  status: number
  message: string
  response: { headers: { [name: string]: string } }
}
const refusal = (request: Promise<unknown>) =>
  request.then(
    () => Promise.reject(new Error('it was answered')),
    (error: Refusal) => error,
  )
const query = '{ viewer { login } }'

test.each([403, 429] as const)(
  'the primary limit: every answer counts down, then %i with all headers until the reset',
  async status => {
    limit({ perHour: 3, status })
    const bot = scene.as(scene.github.tokens.userToServer(scene.github.users.ensure('alice')))
    const first = await bot.rest.repos.get(at)
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': '2',
      'x-ratelimit-used': '1',
      'x-ratelimit-resource': 'core',
      'x-ratelimit-reset': String(now.getTime() / 1000 + 3600),
    })
    // A refusal for another reason counts too.
    expect(await statusOf(bot.rest.repos.get({ owner: 'acme', repo: 'none' }))).toBe(404)
    await bot.rest.repos.get(at)
    const refused = await refusal(bot.rest.repos.get(at))
    expect(refused).toMatchObject({
      status,
      message: expect.stringMatching(/^API rate limit exceeded for user ID \d+\./),
    })
    expect(refused.response.headers).toMatchObject({ 'x-ratelimit-remaining': '0', 'x-ratelimit-used': '3' })
    expect(refused.response.headers['retry-after']).toBeUndefined()
    now = new Date(Number(refused.response.headers['x-ratelimit-reset']) * 1000)
    expect(await statusOf(bot.rest.repos.get(at))).toBe(0)
  },
)

test('installations, people and the jobs of each repository have accounts of their own', async () => {
  limit({ perHour: 2, jobsPerHour: 1 })
  const { github, repository } = scene
  const other = github.repositories.add({ name: 'acme/other' })
  const bot = await scene.installation()
  const [alice, bob] = ['alice', 'bob'].map(login => scene.as(github.tokens.userToServer(github.users.ensure(login))))
  const spend = async (client: typeof bot | undefined, times: number, of = at) => {
    for (let count = 0; count < times; count++) await client?.rest.repos.get(of)
  }
  await spend(bot, 2)
  await spend(alice, 2)
  await spend(bob, 2)
  for (const client of [bot, alice, bob])
    expect((await refusal(client?.rest.repos.get(at) ?? Promise.resolve())).status).toBe(403)
  const job = (of: { id: number }) => {
    const app = github.tokens.ownApp()
    return scene.as(
      github.tokens.issue(
        'ghs_',
        { kind: 'job', app, user: app.bot, repository: of.id, permissions: { metadata: 'read' }, job: 1, run: 1 },
        60,
      ),
    )
  }
  await spend(job(repository), 1)
  expect((await refusal(job(repository).rest.repos.get(at))).status).toBe(403)
  await spend(job(other), 1, { owner: 'acme', repo: 'other' })
})

test('asking for the state costs nothing and tells it', async () => {
  limit({ perHour: 5 })
  const bot = await scene.installation()
  await bot.rest.repos.get(at)
  for (let count = 0; count < 7; count++) await bot.rest.rateLimit.get()
  const { data } = await bot.rest.rateLimit.get()
  expect(data.rate).toMatchObject({ limit: 5, used: 1, remaining: 4 })
  expect(data.resources.graphql).toMatchObject({ limit: 5, used: 0, remaining: 5 })
})

test('secondary: points of reads and writes at one endpoint within a minute, with Retry-After', async () => {
  limit({ pointsPerMinute: 12 })
  const bot = await scene.installation()
  await bot.rest.issues.create({ ...at, title: 'five' })
  now = new Date(now.getTime() + 10_000)
  await bot.rest.issues.create({ ...at, title: 'ten' })
  const refused = await refusal(bot.rest.issues.create({ ...at, title: 'fifteen' }))
  expect(refused).toMatchObject({
    status: 403,
    message: expect.stringContaining('You have exceeded a secondary rate limit'),
  })
  expect(refused.response.headers).toMatchObject({
    'retry-after': '50',
    'x-ratelimit-remaining': expect.not.stringMatching(/^0$/),
  })
  // Reads count one, and elsewhere is another account.
  for (let count = 0; count < 12; count++) await bot.rest.repos.get(at)
  expect((await refusal(bot.rest.repos.get(at))).response.headers['retry-after']).toBe('60')
  now = new Date(now.getTime() + 51_000)
  await bot.rest.issues.create({ ...at, title: 'fifteen' })
})

test('GraphQL has points of its own; a spent limit is an error with status 200', async () => {
  limit({ perHour: 2 })
  const me = scene.as(scene.github.tokens.userToServer(scene.github.users.ensure('alice')))
  await me.graphql(query)
  await me.graphql(query)
  await me.rest.repos.get(at)
  const answer = await me.request('POST /graphql', { query })
  expect([answer.status, answer.data]).toEqual([
    200,
    {
      errors: [{ type: 'RATE_LIMITED', message: expect.stringMatching(/^API rate limit exceeded for user ID \d+\.$/) }],
    },
  ])
  expect(answer.headers).toMatchObject({ 'x-ratelimit-remaining': '0', 'x-ratelimit-resource': 'graphql' })
})

test('GraphQL, secondary: a status of its own with Retry-After', async () => {
  limit({ graphqlPointsPerMinute: 1 })
  const me = scene.as(scene.github.tokens.userToServer(scene.github.users.ensure('alice')))
  await me.graphql(query)
  const refused = await refusal(me.graphql(query))
  expect(refused).toMatchObject({ status: 403, response: { headers: { 'retry-after': '60' } } })
})

test('a programmed secondary limit may leave Retry-After out', async () => {
  const bot = await scene.installation()
  scene.github.faults.secondaryLimit({ retryAfterSeconds: null, status: 429 })
  const refused = await refusal(bot.rest.repos.get(at))
  expect(refused.status).toBe(429)
  expect(refused.response.headers['retry-after']).toBeUndefined()
})
