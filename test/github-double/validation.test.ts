import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadValidator } from '../github/openapi/validator.ts'
import { at, type Stage, stage, statusOf } from './world.ts'

const validator = await loadValidator()
const issueRoute = 'POST /repos/{owner}/{repo}/issues'

test.each([
  { what: 'a title of a wrong type', body: { title: { text: 'x' } }, part: 'request body' },
  { what: 'no title', body: { body: 'x' }, part: 'request body' },
  { what: 'a misspelt property', body: { title: 'x', label: ['a'] }, part: 'request body' },
])('$what is a violation', ({ body, part }) => {
  const found = validator.request(issueRoute, { owner: 'a', repo: 'b' }, {}, body)
  expect(found.map(v => v.part)).toEqual([part])
})

test('a right body, and one with a nullable property null, are none', () => {
  expect(
    validator.request(issueRoute, { owner: 'a', repo: 'b' }, {}, { title: 'x', milestone: null, assignee: null }),
  ).toEqual([])
})

test.each([
  { query: { per_page: 'many' } },
  { query: { sort: 'sideways' } },
  { query: { unheard: '1' } },
  { query: { since: 'yesterday' } },
])('the query $query is a violation', ({ query }) => {
  expect(
    validator.request('GET /repos/{owner}/{repo}/issues', { owner: 'a', repo: 'b' }, query, undefined),
  ).toHaveLength(1)
})

test('an answer that lacks a required property, has a wrong type or an undescribed status is a violation', () => {
  const route = 'GET /repos/{owner}/{repo}/git/ref/{ref}'
  const right = {
    ref: 'refs/heads/main',
    node_id: 'x',
    url: 'https://x.example/',
    object: { type: 'commit', sha: 'a'.repeat(40), url: 'https://x.example/' },
  }
  expect(validator.response(route, 200, right)).toEqual([])
  expect(validator.response(route, 200, { ...right, node_id: undefined })).toHaveLength(1)
  expect(validator.response(route, 200, { ...right, ref: 7 })).toHaveLength(1)
  expect(validator.response(route, 202, right)).toHaveLength(1)
  expect(validator.response(route, 404, { error: 'no message' })).toHaveLength(1)
  expect(validator.payload('issue-comment-created', { action: 'created' })).toHaveLength(1)
})

describe('over HTTP', () => {
  let scene: Stage
  beforeEach(async () => {
    scene = await stage()
  })

  test('a wrong request is answered 422, recorded, and fails close()', async () => {
    const bot = await scene.installation()
    expect(
      await statusOf(
        bot.request('POST /repos/{owner}/{repo}/issues', { ...at, title: 'x', labels: 'bug' as unknown as string[] }),
      ),
    ).toBe(422)
    expect(scene.github.violations).toHaveLength(1)
    await expect(scene.github.close()).rejects.toThrow(/POST \/repos\/\{owner\}\/\{repo\}\/issues: request body/)
  })

  test('an operation that the double lacks does not pass for a missing thing', async () => {
    const bot = await scene.installation()
    expect(await statusOf(bot.rest.repos.listBranches(at))).toBe(404)
    await expect(scene.github.close()).rejects.toThrow(/GET \/repos\/acme\/shop\/branches: operation/)
  })

  test('a GraphQL field that GitHub lacks is refused and recorded', async () => {
    const bot = await scene.installation()
    await expect(bot.graphql('query { repository(owner: "acme", name: "shop") { lastEditedAt } }')).rejects.toThrow(
      /lastEditedAt/,
    )
    await expect(scene.github.close()).rejects.toThrow(/graphql/)
  })

  afterEach(() => scene.github.close().catch(() => undefined))
})
