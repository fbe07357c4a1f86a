import { request } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { at, type Stage, stage, statusOf } from './world.ts'

let scene: Stage
/** The double's clock, set by hand; near the real one, since Octokit signs its JWT by that. */
let now = new Date()
const second = () => `${now.toISOString().slice(0, 19)}Z`

beforeEach(async () => {
  now = new Date(Math.floor(Date.now() / 1000) * 1000 + 400)
  scene = await stage({ clock: { now: () => now } })
})
afterEach(() => scene.github.close())

const person = (login: string) => scene.github.users.ensure(login)

test('lists come in pages with links, each item once; shuffled, still each item once', async () => {
  const { github, repository } = scene
  const issue = github.openIssue(repository, person('alice'), { title: 'T' })
  for (let i = 0; i < 101; i++) github.comment(issue, person('bob'), `comment ${i}`)
  const bot = await scene.installation()
  const list = () => bot.paginate(bot.rest.issues.listComments, { ...at, issue_number: issue.number, per_page: 100 })
  expect((await list()).map(c => c.body)).toEqual(issue.comments.map(c => c.body))
  github.faults.add({ route: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments', times: 2, shuffle: true })
  const shuffled = (await list()).map(c => c.body ?? '')
  expect(shuffled).not.toEqual(issue.comments.map(c => c.body))
  expect([...shuffled].sort()).toEqual(issue.comments.map(c => c.body).sort())
  const first = await bot.rest.issues.listComments({ ...at, issue_number: issue.number, per_page: 50 })
  expect(first.headers.link).toMatch(/page=2>; rel="next", .*page=3>; rel="last"/)
})

test('times have whole seconds, and since means updated since', async () => {
  const { github, repository } = scene
  const issue = github.openIssue(repository, person('alice'), { title: 'T' })
  const old = github.comment(issue, person('bob'), 'old')
  now = new Date(now.getTime() + 60_400)
  github.comment(issue, person('bob'), 'new')
  const bot = (await scene.installation()).rest
  const since = async (time: string) =>
    (await bot.issues.listCommentsForRepo({ ...at, since: time })).data.map(c => `${c.body} ${c.updated_at}`)
  expect(await since(second())).toEqual([`new ${second()}`])
  github.editComment(old, 'old, edited')
  expect(await since(second())).toEqual([`old, edited ${second()}`, `new ${second()}`])
})

test('lastEditedAt tells an edited text from one that never was, also when the edit is undone', async () => {
  const { github, repository } = scene
  const alice = person('alice')
  const issue = github.openIssue(repository, alice, { title: 'T', body: 'B' })
  const [kept, edited, gone] = ['a', 'b', 'c'].map(text => github.comment(issue, alice, text))
  if (!kept || !edited || !gone) throw new Error('unreachable')
  github.editIssue(issue, { body: 'other' }, person('bob'))
  github.editIssue(issue, { body: 'B' }, person('bob'))
  github.editIssue(issue, { title: 'A new title' }, person('bob'))
  github.editComment(edited, 'b2', person('carol'))
  github.deleteComment(gone)
  const bot = await scene.installation()
  const query = `query ($ids: [ID!]!) { nodes(ids: $ids) {
    __typename ... on Issue { body lastEditedAt editor { login } } ... on IssueComment { lastEditedAt editor { login } author { login } }
  } }`
  const error = await bot
    .graphql(query, { ids: [issue.nodeId, kept.nodeId, edited.nodeId, gone.nodeId] })
    .catch((e: unknown) => e)
  const time = second()
  expect((error as { data: unknown }).data).toEqual({
    nodes: [
      { __typename: 'Issue', body: 'B', lastEditedAt: time, editor: { login: 'bob' } },
      { __typename: 'IssueComment', lastEditedAt: null, editor: null, author: { login: 'alice' } },
      { __typename: 'IssueComment', lastEditedAt: time, editor: { login: 'carol' }, author: { login: 'alice' } },
      null,
    ],
  })
  expect((error as { errors: unknown[] }).errors).toMatchObject([{ type: 'NOT_FOUND', path: ['nodes', 3] }])
  const single = await bot.graphql(
    'query ($id: ID!) { node(id: $id) { ... on IssueComment { lastEditedAt issue { number } } } }',
    { id: kept.nodeId },
  )
  expect(single).toEqual({ node: { lastEditedAt: null, issue: { number: issue.number } } })
})

test('a renamed repository redirects by its id, until another takes the name', async () => {
  const { github, repository } = scene
  repository.rename('store')
  const bot = (await scene.installation()).rest
  expect((await bot.repos.get(at)).data.full_name).toBe('acme/store')
  const issue = await bot.issues.create({ ...at, title: 'through the old name' })
  expect(issue.data.repository_url).toBe(`${github.apiUrl}/repos/acme/store`)
  const heir = github.repositories.add({ name: 'acme/shop' })
  expect((await bot.repos.get(at)).data.id).toBe(heir.id)
})

test('a renamed person keeps the id, a removed one is gone', async () => {
  const { github } = scene
  const bob = person('bob')
  github.users.rename(bob, 'robert')
  const bot = (await scene.installation()).rest
  expect((await bot.users.getByUsername({ username: 'ROBERT' })).data.id).toBe(bob.id)
  expect(await statusOf(bot.users.getByUsername({ username: 'bob' }))).toBe(404)
  github.users.remove(bob)
  expect(await statusOf(bot.users.getById({ account_id: bob.id }))).toBe(404)
})

test.each([
  { what: 'an archived repository', set: { archived: true }, status: 403 },
  { what: 'issues switched off', set: { hasIssues: false }, status: 410 },
])('$what refuses an issue with $status', async ({ set, status }) => {
  scene.repository.set(set)
  expect(await statusOf((await scene.installation()).rest.issues.create({ ...at, title: 'T' }))).toBe(status)
})

test('bodies above 65,536 characters, unknown assignees and unknown commits are refused', async () => {
  const bot = (await scene.installation()).rest
  expect(await statusOf(bot.issues.create({ ...at, title: 'T', body: 'x'.repeat(65_537) }))).toBe(422)
  expect(await statusOf(bot.issues.create({ ...at, title: 'T', assignees: ['nobody-at-all'] }))).toBe(422)
  expect(await statusOf(bot.repos.createCommitStatus({ ...at, sha: '0'.repeat(40), state: 'success' }))).toBe(422)
  expect(await statusOf(bot.issues.create({ ...at, title: 'T', body: 'x'.repeat(65_536) }))).toBe(0)
})

test('deleted issues are 410, transferred ones lead to their new place', async () => {
  const { github, repository } = scene
  const other = github.repositories.add({ name: 'acme/other' })
  const alice = person('alice')
  const [one, two] = ['1', '2'].map(title => github.openIssue(repository, alice, { title }))
  if (!one || !two) throw new Error('unreachable')
  github.deleteIssue(one, alice)
  const moved = github.transferIssue(two, other, alice)
  const bot = (await scene.installation()).rest
  expect(await statusOf(bot.issues.get({ ...at, issue_number: one.number }))).toBe(410)
  expect((await bot.issues.get({ ...at, issue_number: two.number })).data).toMatchObject({
    number: moved.number,
    title: '2',
  })
})

test('programmed failures meet the named route, count down, and can hide whether the work was done', async () => {
  const { github, repository } = scene
  const route = 'POST /repos/{owner}/{repo}/issues'
  const bot = (await scene.installation()).rest
  github.faults.secondaryLimit({ route, retryAfterSeconds: 7, after: 1 })
  github.faults.add({ route, drop: 'after' })
  github.faults.add({ route: call => call.path.endsWith('/meta'), status: 502, times: 2 })
  expect(await statusOf(bot.issues.create({ ...at, title: 'made, but who knows' }))).not.toBe(0)
  const limited = await bot.issues.create({ ...at, title: 'B' }).catch((e: { response?: { headers?: object } }) => e)
  expect(limited).toMatchObject({ status: 403, response: { headers: { 'retry-after': '7' } } })
  expect(await statusOf(bot.issues.create({ ...at, title: 'C' }))).toBe(0)
  expect([await statusOf(bot.meta.get()), await statusOf(bot.meta.get()), await statusOf(bot.meta.get())]).toEqual([
    502, 502, 0,
  ])
  expect(repository.issues.map(issue => issue.title)).toEqual(['made, but who knows', 'C'])
  expect(github.faults.pending).toEqual([])
  expect(github.requests.count(route)).toBe(3)
})

test('an unchanged answer is 304 to its ETag', async () => {
  const headers = { 'user-agent': 'test' }
  const first = await fetch(`${scene.github.apiUrl}/repos/acme/shop`, { headers })
  const etag = first.headers.get('etag') ?? ''
  const again = await new Promise(done =>
    request(`${scene.github.apiUrl}/repos/acme/shop`, { headers: { ...headers, 'if-none-match': etag } }, answer =>
      done(answer.statusCode),
    ).end(),
  )
  expect([first.status, again]).toEqual([200, 304])
})

test('tokens expire by the double’s clock', async () => {
  const bot = (await scene.installation()).rest
  expect(await statusOf(bot.repos.get(at))).toBe(0)
  now = new Date(now.getTime() + 3_600_000)
  expect(await statusOf(bot.repos.get(at))).toBe(401)
})

test('who makes too much content in a minute, or too many requests in an hour, is told when to come back', async () => {
  const { github, repository } = scene
  const issue = github.openIssue(repository, person('alice'), { title: 'T' })
  github.limits.settings = { ...github.limits.settings, contentPerMinute: 2, perHour: 8 }
  const bot = (await scene.installation()).rest
  const say = (body: string) => bot.issues.createComment({ ...at, issue_number: issue.number, body })
  await say('1')
  now = new Date(now.getTime() + 20_000)
  await say('2')
  const refused = await say('3').catch((error: unknown) => error)
  expect(refused).toMatchObject({ status: 403, response: { headers: { 'retry-after': '40' } } })
  now = new Date(now.getTime() + 40_000)
  const made = await say('3')
  expect(made.headers['x-ratelimit-remaining']).toBe('4')
  for (let i = 0; i < 4; i++) await bot.repos.get(at)
  const over = await bot.repos.get(at).catch((error: unknown) => error)
  expect(over).toMatchObject({ status: 403, response: { headers: { 'x-ratelimit-remaining': '0' } } })
  now = new Date(
    Number((over as { response: { headers: { [name: string]: string } } }).response.headers['x-ratelimit-reset']) *
      1000,
  )
  expect(issue.comments).toHaveLength(3)
})

test('a suspended installation’s token is refused, a removed repository’s too', async () => {
  const { github, repository } = scene
  repository.set({ private: true })
  const bot = (await scene.installation()).rest
  const installation = github.installations.of(repository)
  if (!installation) throw new Error('not installed')
  github.installations.suspend(installation, true)
  expect(await statusOf(bot.repos.get(at))).toBe(403)
  github.installations.suspend(installation, false)
  expect(await statusOf(bot.repos.get(at))).toBe(0)
  github.installations.remove(repository)
  expect(await statusOf(bot.repos.get(at))).toBe(404)
  github.installations.delete(installation)
  expect(await statusOf(bot.repos.get(at))).toBe(401)
})

test('an issue’s events tell a closing by a commit from one by hand', async () => {
  const { github, repository } = scene
  const issue = github.openIssue(repository, person('alice'), { title: 'T' })
  github.closeIssue(issue, person('bob'))
  github.reopenIssue(issue, person('alice'))
  github.closeIssue(issue, person('alice'), repository.head().sha)
  const { data } = await (await scene.installation()).rest.issues.listEvents({ ...at, issue_number: issue.number })
  expect(data.map(event => [event.event, event.actor?.login, event.commit_id])).toEqual([
    ['closed', 'bob', null],
    ['reopened', 'alice', null],
    ['closed', 'alice', repository.head().sha],
  ])
})
