import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Issue } from '../github/index.ts'
import { at, plainWorkflow, type Stage, stage, statusOf } from './world.ts'

let scene: Stage
let issue: Issue

beforeAll(async () => {
  scene = await stage({}, { private: true })
  issue = scene.github.openIssue(scene.repository, scene.github.users.ensure('alice'), { title: 'T' })
})
afterAll(() => scene.github.close())

describe('people', () => {
  const calls = {
    read: (o: ReturnType<Stage['as']>) => o.rest.issues.get({ ...at, issue_number: issue.number }),
    comment: (o: ReturnType<Stage['as']>) =>
      o.rest.issues.createComment({ ...at, issue_number: issue.number, body: 'x' }),
    label: (o: ReturnType<Stage['as']>) =>
      o.rest.issues.addLabels({ ...at, issue_number: issue.number, labels: ['x'] }),
    status: (o: ReturnType<Stage['as']>) =>
      o.rest.repos.createCommitStatus({ ...at, sha: scene.repository.head().sha, state: 'success' }),
  }
  test.each([
    { login: 'mallory', read: 404, comment: 404, label: 404, status: 404 },
    { login: 'dave', read: 0, comment: 0, label: 403, status: 403 },
    { login: 'carol', read: 0, comment: 0, label: 0, status: 403 },
    { login: 'bob', read: 0, comment: 0, label: 0, status: 0 },
  ])('$login', async ({ login, ...expected }) => {
    const client = scene.as(scene.github.tokens.pat(scene.github.users.ensure(login)))
    for (const [name, status] of Object.entries(expected)) {
      expect([name, await statusOf(calls[name as keyof typeof calls](client))]).toEqual([name, status])
    }
  })

  test('role and legacy permission, custom roles and strangers', async () => {
    scene.repository.setCollaborator('erin', { name: 'approver', base: 'write' })
    const bot = (await scene.installation()).rest
    const seen: string[] = []
    for (const username of ['alice', 'bob', 'carol', 'dave', 'erin', 'mallory']) {
      const { data } = await bot.repos.getCollaboratorPermissionLevel({ ...at, username })
      seen.push(`${username} ${data.permission} ${data.role_name}`)
    }
    expect(seen).toEqual([
      'alice admin admin',
      'bob write write',
      'carol read triage',
      'dave read read',
      'erin write approver',
      'mallory none none',
    ])
    expect(await statusOf(bot.repos.getCollaboratorPermissionLevel({ ...at, username: 'no-such-person' }))).toBe(404)
  })
})

describe('Apps and jobs', () => {
  test('an installation token does what it was narrowed to, and no more', async () => {
    const narrow = (await scene.installation({ issues: 'read' })).rest
    expect(await statusOf(narrow.issues.get({ ...at, issue_number: issue.number }))).toBe(0)
    expect(await statusOf(narrow.issues.createComment({ ...at, issue_number: issue.number, body: 'x' }))).toBe(403)
    expect(await statusOf(narrow.actions.listWorkflowRunsForRepo(at))).toBe(403)
    await expect(scene.installation({ packages: 'write' })).rejects.toMatchObject({ status: 422 })
  })

  test('an installation token does not reach another repository', async () => {
    scene.github.repositories.add({ name: 'acme/secret', private: true })
    const bot = (await scene.installation()).rest
    expect(await statusOf(bot.repos.get({ owner: 'acme', repo: 'secret' }))).toBe(404)
  })

  test('a user-to-server token has the lesser of the person and the App', async () => {
    const bob = scene.github.users.ensure('bob')
    const client = scene.as(scene.github.tokens.userToServer(bob)).rest
    const { data } = await client.issues.createComment({ ...at, issue_number: issue.number, body: 'x' })
    expect(data).toMatchObject({ user: { login: 'bob' }, performed_via_github_app: { id: scene.github.app.id } })
    scene.github.app.record.permissions['statuses'] = 'read'
    expect(
      await statusOf(client.repos.createCommitStatus({ ...at, sha: scene.repository.head().sha, state: 'success' })),
    ).toBe(403)
    scene.github.app.record.permissions['statuses'] = 'write'
  })

  test('a job’s token writes as github-actions[bot], has the workflow’s permissions and ends with the job', async () => {
    const statuses: { [what: string]: number } = {}
    let token = ''
    scene.repository.addWorkflow(
      plainWorkflow(
        {
          probe: {
            permissions: { issues: 'write' },
            env: { TOKEN: '${{ github.token }}' },
            steps: [
              {
                run: async ({ environment }) => {
                  token = environment['TOKEN'] ?? ''
                  const client = scene.as(token).rest
                  const made = await client.issues.create({ ...at, title: 'By a job' })
                  expect(made.data).toMatchObject({
                    user: { id: 41898282, type: 'Bot' },
                    performed_via_github_app: { slug: 'github-actions' },
                  })
                  statuses['status'] = await statusOf(
                    client.repos.createCommitStatus({ ...at, sha: scene.repository.head().sha, state: 'success' }),
                  )
                  statuses['contents'] = await statusOf(client.repos.getContent({ ...at, path: 'README.md' }))
                },
              },
            ],
          },
        },
        { path: '.github/workflows/token.yml' },
      ),
    )
    const run = scene.github.startRun(scene.repository, 'token.yml', { actor: 'bob' })
    await run.completed()
    expect(run.job('probe').steps[0]?.log).toBe('')
    expect(statuses).toEqual({ status: 403, contents: 403 })
    expect(await statusOf(scene.as(token).rest.issues.get({ ...at, issue_number: issue.number }))).toBe(401)
  })

  test('the App’s key is needed for what only the App may do', async () => {
    const bot = (await scene.installation()).rest
    expect(await statusOf(bot.apps.getAuthenticated())).toBe(401)
    expect((await scene.appClient().rest.apps.getAuthenticated()).data).toMatchObject({ slug: scene.github.app.slug })
    const wrong = scene.as(
      `${scene.github.app.privateKeyPem.slice(40, 80).replaceAll('\n', '')}.eyJpc3MiOjF9.AAAA`,
    ).rest
    expect(await statusOf(wrong.apps.getAuthenticated())).toBe(401)
  })
})

test('team memberships are the organisation’s: members permission needed, pending is not active', async () => {
  scene.github.teams.add({ org: 'acme', slug: 'release', members: ['alice', { user: 'bob', state: 'pending' }] })
  const where = { org: 'acme', team_slug: 'release' }
  const bot = (await scene.installation({ members: 'read' })).rest
  expect((await bot.teams.getMembershipForUserInOrg({ ...where, username: 'alice' })).data.state).toBe('active')
  expect((await bot.teams.getMembershipForUserInOrg({ ...where, username: 'bob' })).data.state).toBe('pending')
  expect(await statusOf(bot.teams.getMembershipForUserInOrg({ ...where, username: 'carol' }))).toBe(404)
  const without = (await scene.installation({ issues: 'write' })).rest
  expect(await statusOf(without.teams.getMembershipForUserInOrg({ ...where, username: 'alice' }))).toBe(403)
})

test('a client without User-Agent is turned away', async () => {
  const { request } = await import('node:http')
  const status = await new Promise(done =>
    request(`${scene.github.apiUrl}/meta`, answer => done(answer.statusCode)).end(),
  )
  expect(status).toBe(403)
})
