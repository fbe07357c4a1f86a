import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Issue, RunContext, Workflow } from '../github/index.ts'
import { at, plainWorkflow, type Stage, stage } from './world.ts'

// https://docs.github.com/en/actions/reference/events-that-trigger-workflows#pull_request (forks) and #pull_request_target;
// https://docs.github.com/en/code-security/dependabot/troubleshooting-dependabot/troubleshooting-dependabot-on-github-actions

let scene: Stage
beforeEach(async () => {
  scene = await stage()
  scene.repository.secrets = { KEY: 'actions-secret' }
  scene.repository.dependabotSecrets = { KEY: 'dependabot-secret' }
})
afterEach(() => scene.github.close())

interface Seen {
  oidc: boolean
  secret: string | undefined
  writes: number
  accepted: string | undefined
  reads: number
  ref: string | undefined
  head: string | undefined
  hasHeadFile: boolean
}

/** One job that tries what its token allows. */
async function look({ environment: env, secrets, workspace }: RunContext): Promise<Seen> {
  const client = scene.as(env['TOKEN'] ?? '').rest
  const { existsSync } = await import('node:fs')
  const outcome = (request: Promise<unknown>) =>
    request.then(
      () => ({ status: 0, accepted: undefined }),
      (error: { status: number; response?: { headers: { [name: string]: string } } }) => ({
        status: error.status,
        accepted: error.response?.headers['x-accepted-github-permissions'],
      }),
    )
  const write = await outcome(client.issues.create({ ...at, title: 'T' }))
  return {
    oidc: env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined,
    secret: secrets['KEY'],
    writes: write.status,
    accepted: write.accepted,
    reads: (await outcome(client.issues.listForRepo(at))).status,
    ref: env['GITHUB_REF'],
    head: env['GITHUB_HEAD_REF'],
    hasHeadFile: existsSync(`${workspace}/new.txt`),
  }
}

async function run(
  event: string,
  actor: string,
  pull: Issue | null,
  permissions: Workflow['permissions'] | null,
): Promise<Seen> {
  const seen: Seen[] = []
  const steps = [{ run: async (context: RunContext) => void seen.push(await look(context)) }]
  scene.repository.addWorkflow(
    plainWorkflow(
      { j: { env: { TOKEN: '${{ github.token }}' }, steps } },
      { on: [event], ...(permissions && { permissions }) },
    ),
  )
  const handle = scene.github.startRun(scene.repository, 'plain.yml', {
    event,
    actor: scene.github.users.ensure(actor),
    ...(pull && { pull }),
  })
  await handle.completed()
  const [only] = seen
  if (only === undefined) throw new Error(handle.job().steps[0]?.log)
  return only
}

const asked = { contents: 'read', issues: 'write', 'id-token': 'write' } as const

function pullFrom(login: string, fork: boolean): Issue {
  const { github, repository } = scene
  const user = github.users.ensure(login)
  const from = fork ? github.repositories.fork(repository, user) : repository
  from.commit({ branch: 'topic', files: { 'new.txt': 'x' }, author: user })
  return repository.pull({ title: 'P', user, head: 'topic', ...(fork && { from }) })
}

test('a fork’s pull request: reads, no identity, no secrets, whatever the workflow asks for', async () => {
  const pull = pullFrom('mallory', true)
  expect(await run('pull_request', 'mallory', pull, asked)).toEqual({
    oidc: false,
    secret: undefined,
    writes: 403,
    accepted: 'issues=write',
    reads: 0,
    ref: `refs/pull/${pull.number}/merge`,
    head: 'topic',
    hasHeadFile: true,
  })
})

test('a pull request of the repository itself has all', async () => {
  const pull = pullFrom('alice', false)
  expect(await run('pull_request', 'alice', pull, asked)).toMatchObject({
    oidc: true,
    secret: 'actions-secret',
    writes: 0,
    reads: 0,
  })
})

test('pull_request_target of a fork has all, at the base’s commit', async () => {
  const pull = pullFrom('mallory', true)
  expect(await run('pull_request_target', 'mallory', pull, asked)).toMatchObject({
    oidc: true,
    secret: 'actions-secret',
    writes: 0,
    ref: 'refs/heads/main',
    head: 'topic',
    hasHeadFile: false,
  })
})

test('Dependabot: its own secrets, no identity, reads unless `permissions` says more; pull_request_target has all', async () => {
  const pull = pullFrom('dependabot[bot]', false)
  const dependabot = (event: string, permissions: Workflow['permissions'] | null) =>
    run(event, 'dependabot[bot]', pull, permissions)
  expect(await dependabot('pull_request', null)).toMatchObject({
    oidc: false,
    secret: 'dependabot-secret',
    writes: 403,
  })
  expect(await dependabot('pull_request', asked)).toMatchObject({ oidc: false, secret: 'dependabot-secret', writes: 0 })
  expect(await dependabot('pull_request_target', asked)).toMatchObject({
    oidc: true,
    secret: 'actions-secret',
    writes: 0,
  })
  expect(await run('push', 'dependabot[bot]', null, asked)).toMatchObject({ oidc: false, secret: 'dependabot-secret' })
})

test('a re-run by somebody else keeps what the first actor had', async () => {
  const pull = pullFrom('mallory', true)
  const tokens: (string | undefined)[] = []
  scene.repository.addWorkflow(
    plainWorkflow(
      {
        j: {
          permissions: asked,
          steps: [{ run: ({ environment }) => void tokens.push(environment['ACTIONS_ID_TOKEN_REQUEST_URL']) }],
        },
      },
      { on: ['pull_request'] },
    ),
  )
  const handle = scene.github.startRun(scene.repository, 'plain.yml', { actor: 'mallory', pull })
  await handle.completed()
  scene.github.runs.rerun(handle.run, scene.github.users.ensure('alice'))
  await handle.completed(2)
  expect(tokens).toEqual([undefined, undefined])
})

test.each([
  // https://docs.github.com/en/rest/authentication/permissions-required-for-github-apps
  ['contents', (client: Client) => client.repos.getContent({ ...at, path: 'README.md' }), 'contents=read'],
  ['issues', (client: Client) => client.issues.create({ ...at, title: 'T' }), 'issues=write'],
  [
    'statuses',
    (client: Client) => client.repos.createCommitStatus({ ...at, sha: scene.repository.head().sha, state: 'pending' }),
    'statuses=write',
  ],
  [
    'actions',
    (client: Client) => client.actions.createWorkflowDispatch({ ...at, workflow_id: 'plain.yml', ref: 'main' }),
    'actions=write',
  ],
] as const)('a job without %s is told what would have sufficed', async (scope, request, accepted) => {
  scene.repository.set({ private: true })
  const app = scene.github.tokens.ownApp()
  const token = (permissions: { [name: string]: 'read' | 'write' }) =>
    scene.github.tokens.issue(
      'ghs_',
      { kind: 'job', app, user: app.bot, repository: scene.repository.id, permissions, job: 1, run: 1 },
      600,
    )
  const error = await request(scene.as(token({ metadata: 'read' })).rest).then(
    () => null,
    (refused: { status: number; message: string; response: { headers: object } }) => refused,
  )
  expect(error).toMatchObject({
    status: 403,
    message: expect.stringContaining('Resource not accessible by integration'),
  })
  expect(error?.response.headers).toMatchObject({ 'x-accepted-github-permissions': accepted })
  await request(scene.as(token({ metadata: 'read', [scope]: 'write' })).rest)
})
type Client = ReturnType<Stage['as']>['rest']
