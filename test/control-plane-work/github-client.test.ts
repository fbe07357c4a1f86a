import { generateKeyPairSync, verify } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { declaredInputs } from '../../control-plane/github/actions.ts'
import { githubFor } from '../../control-plane/github/index.ts'
import { appSigner, pkcs8FromPem } from '../../control-plane/github/key.ts'
import { type GitHubDouble, type Repository, startGitHub } from '../github/index.ts'
import { configFor, MovingClock } from './world.ts'

describe('App keys', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pkcs1 = String(privateKey.export({ type: 'pkcs1', format: 'pem' }))
  const pkcs8 = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))

  test('PKCS#1 is wrapped into the very PKCS#8 that OpenSSL writes', () => {
    const der = privateKey.export({ type: 'pkcs8', format: 'der' })
    expect(Buffer.from(pkcs8FromPem(pkcs1)).equals(der)).toBe(true)
    expect(Buffer.from(pkcs8FromPem(pkcs8)).equals(der)).toBe(true)
  })

  test.each([
    ['PKCS#1', pkcs1],
    ['PKCS#8', pkcs8],
    ['on one line', pkcs1.replaceAll('\n', '\\n')],
  ])('sign RS256 (%s)', async (_name, pem) => {
    const jwt = await appSigner(pem)({ iss: '7', iat: 1, exp: 2 })
    const [header = '', claims = '', signature = ''] = jwt.split('.')
    const signed = Buffer.from(`${header}.${claims}`)
    expect(verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))).toBe(true)
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toEqual({ iss: '7', iat: 1, exp: 2 })
  })

  test.each(['', 'secret', '-----BEGIN RSA PRIVATE KEY-----', pkcs1.replace('RSA', 'OPENSSH')])('refuse %j', pem => {
    expect(() => pkcs8FromPem(pem)).toThrow(/GITHUB_APP_PRIVATE_KEY/)
  })
})

describe('the client', () => {
  let github: GitHubDouble
  let repository: Repository
  const clock = new MovingClock()
  const open = () => githubFor(configFor(github), fetch, clock, { id: repository.id, owner: 'org', name: 'app' })

  beforeAll(async () => {
    github = await startGitHub({ clock })
    repository = github.repositories.add({
      name: 'org/app',
      ownerType: 'Organization',
      collaborators: { owner: 'admin', alice: 'maintain' },
    })
    github.repositories.add({ name: 'org/other', collaborators: { alice: 'admin' } })
  })
  beforeEach(() => {
    clock.advance(3700)
    github.requests.clear()
    github.faults.clear()
  })
  afterAll(() => github.close())

  test('asks for a token of this repository alone, with the permissions that it needs', async () => {
    expect(await open().info()).toMatchObject({ ok: true, value: { id: repository.id, hasIssues: true } })
    const [asked] = github.requests.of('POST /app/installations/{installation_id}/access_tokens')
    expect(asked?.body).toEqual({
      repository_ids: [repository.id],
      permissions: {
        metadata: 'read',
        actions: 'write',
        issues: 'write',
        contents: 'read',
        statuses: 'write',
        pull_requests: 'write',
      },
    })
  })

  test('keeps a token until shortly before its end, by the clock that was handed in', async () => {
    const client = open()
    for (const seconds of [0, 3200, 200]) {
      clock.advance(seconds)
      await client.info()
    }
    expect(github.requests.count('POST /app/installations/{installation_id}/access_tokens')).toBe(2)
  })

  test('a token that GitHub took back is replaced once', async () => {
    const client = open()
    await client.info()
    github.faults.add({ route: 'GET /repos/{owner}/{repo}', status: 401, message: 'Bad credentials' })
    expect(await client.info()).toMatchObject({ ok: true })
    github.faults.add({ route: 'GET /repos/{owner}/{repo}', status: 401, message: 'Bad credentials', times: 2 })
    expect(await client.info()).toMatchObject({ ok: false, code: 'unauthorised' })
  })

  test('role names tell maintain from write', async () => {
    expect(await open().permission('ALICE')).toMatchObject({
      ok: true,
      value: { user: { login: 'alice', type: 'User' }, permission: 'write', roleName: 'maintain' },
    })
  })

  test.each([
    [404, 'not_found', false],
    [403, 'forbidden', false],
    [422, 'invalid', false],
    [500, 'unavailable', false],
    [503, 'unavailable', false],
  ])('%d is a failure by name', async (status, code) => {
    github.faults.add({ route: 'GET /repos/{owner}/{repo}', status, message: 'No' })
    expect(await open().info()).toMatchObject({ ok: false, status, code, retryAt: null })
  })

  test('no answer at all is a failure by name', async () => {
    github.faults.add({ route: 'GET /repos/{owner}/{repo}', drop: 'before' })
    expect(await open().info()).toMatchObject({ ok: false, status: 0, code: 'unreachable' })
  })

  test('a secondary limit silences every call until its time', async () => {
    const client = open()
    github.faults.secondaryLimit({ route: 'GET /repos/{owner}/{repo}', retryAfterSeconds: 60, status: 429 })
    const limited = await client.info()
    expect(limited).toMatchObject({ ok: false, code: 'rate_limited' })
    const calls = github.requests.count()
    expect(await client.user('alice')).toMatchObject({ ok: false, code: 'rate_limited' })
    expect(github.requests.count()).toBe(calls)
    clock.advance(61)
    expect(await client.user('alice')).toMatchObject({ ok: true })
  })

  test('spent GraphQL points, told with status 200, silence every call until the reset', async () => {
    const client = open()
    const installation = github.installations.of(repository)
    if (installation === null) throw new Error('not installed')
    github.limits.spend({ installation: installation.id }, 'graphql')
    const { nodeId } = github.openIssue(repository, github.users.ensure('owner'), { title: 'Asked' })
    const limited = await client.lastEditedAt([nodeId])
    expect(limited).toMatchObject({ ok: false, code: 'rate_limited', retryAt: expect.any(String) })
    const calls = github.requests.count()
    expect(await client.user('alice')).toMatchObject({ ok: false, code: 'rate_limited' })
    expect(github.requests.count()).toBe(calls)
    clock.advance(3_601)
    expect(await client.lastEditedAt([nodeId])).toMatchObject({ ok: true })
  })

  test('writes stay under 80 a minute', async () => {
    const client = open()
    const issue = github.openIssue(repository, github.users.ensure('owner'), { title: 'Busy' })
    const answers = []
    for (let count = 0; count < 85; count++) answers.push(await client.createComment(issue.number, `comment ${count}`))
    expect(answers.filter(({ ok }) => ok)).toHaveLength(80)
    expect(answers.at(-1)).toMatchObject({ ok: false, code: 'rate_limited' })
    clock.advance(61)
    expect(await client.createComment(issue.number, 'once more')).toMatchObject({ ok: true })
  })

  test('a new repository under an old name is out of reach', async () => {
    const client = githubFor(configFor(github), fetch, clock, { id: repository.id, owner: 'org', name: 'other' })
    expect((await client.info()).ok).toBe(false)
  })

  test('comments come by id, whatever order GitHub lists them in', async () => {
    const issue = github.openIssue(repository, github.users.ensure('owner'), { title: 'Long' })
    const since = clock.now().toISOString()
    for (let count = 0; count < 230; count++) github.comment(issue, github.users.ensure('alice'), `comment ${count}`)
    github.faults.add({ route: 'GET /repos/{owner}/{repo}/issues/comments', shuffle: true, times: 10 })
    const found = await open().commentsSince(since)
    if (!found.ok) throw new Error(found.message)
    const ids = found.value.map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((left, right) => left - right))
    expect(found.value).toHaveLength(230)
  })

  test('edit times: never, once, and of a node that is gone', async () => {
    const owner = github.users.ensure('owner')
    const [untouched, edited, gone] = ['a', 'b', 'c'].map(title =>
      github.openIssue(repository, owner, { title, body: 'x' }),
    )
    if (!untouched || !edited || !gone) throw new Error('three issues are needed')
    github.editIssue(edited, { body: 'y' }, owner)
    github.deleteIssue(gone, owner)
    const answer = await open().lastEditedAt([untouched.nodeId, edited.nodeId, gone.nodeId])
    if (!answer.ok) throw new Error(answer.message)
    expect(answer.value[untouched.nodeId]).toBeNull()
    expect(answer.value[edited.nodeId]).toMatch(/^20/)
    expect(gone.nodeId in answer.value).toBe(false)
  })

  test('a configured token stands in for the App', async () => {
    const token = github.tokens.pat(github.users.ensure('owner'))
    const config = { ...configFor(github), app: null, token }
    const client = githubFor(config, fetch, clock, { id: repository.id, owner: 'org', name: 'app' })
    expect(await client.self()).toMatchObject({ ok: true, value: { login: 'owner' } })
    expect(await client.info()).toMatchObject({ ok: true })
    expect(github.requests.all.every(({ route }) => !route.includes('/app'))).toBe(true)
  })

  test('annotated tags lead to their commit', async () => {
    repository.tag('v1')
    expect(await open().ref('refs/tags/v1')).toEqual({ ok: true, value: { sha: repository.head().sha } })
    expect(await open().ref('refs/heads/none')).toMatchObject({ ok: false, code: 'not_found' })
  })
})

test.each([
  ['on: workflow_dispatch', []],
  ['on: [push, workflow_dispatch]', []],
  ['on: {push: null, workflow_dispatch: {inputs: {agentctl-run: {}, other: {}}}}', ['agentctl-run', 'other']],
  ['"on": {workflow_dispatch: null}', []],
  ['on: push', null],
  ['on: {workflow_call: {inputs: {agentctl-run: {}}}}', null],
  ['', null],
])('inputs that a dispatch may carry: %s', (text, expected) => {
  expect(declaredInputs(text)).toEqual(expected)
})
