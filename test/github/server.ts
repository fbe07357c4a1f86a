import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createApi } from './api.ts'
import type { Services } from './call.ts'
import { DeliveryLog } from './deliveries.ts'
import { Faults } from './faults.ts'
import { graphqlRoute } from './graphql/route.ts'
import { Installations } from './installations.ts'
import { Issues } from './issues.ts'
import { sharedRsaPair } from './keys.ts'
import { RateLimits } from './limits.ts'
import { Login } from './login.ts'
import type { AppRecord } from './model.ts'
import { Oidc } from './oidc.ts'
import { loadValidator, type Violation } from './openapi/validator.ts'
import { pages } from './pages.ts'
import { repositoryEvent, runEvent } from './payloads.ts'
import { ACTIONS_APP_ID, ACTIONS_BOT_ID, People, Teams } from './people.ts'
import { Repositories } from './repositories.ts'
import { RequestLog } from './requests.ts'
import { actionsRoutes } from './routes/actions.ts'
import { appRoutes } from './routes/apps.ts'
import { issueRoutes } from './routes/issues.ts'
import { metaRoutes } from './routes/meta.ts'
import { peopleRoutes } from './routes/people.ts'
import { repositoryRoutes } from './routes/repositories.ts'
import { Runs } from './runner/runs.ts'
import { Slots } from './runner/slots.ts'
import { TokenIssuer } from './tokens.ts'
import type { AppIdentity, GitHubDouble, GitHubOptions } from './types.ts'
import { World } from './world.ts'

const APP_PERMISSIONS = {
  metadata: 'read',
  actions: 'write',
  issues: 'write',
  contents: 'read',
  statuses: 'write',
  pull_requests: 'write',
  members: 'read',
} as const
const APP_EVENTS = ['issue_comment', 'issues', 'workflow_run', 'repository']

/** Starts the double on a free loopback port. Everything that it starts, close() ends. */
export async function startGitHub(options: GitHubOptions = {}): Promise<GitHubDouble> {
  const validator = await loadValidator()
  const world = new World(options.clock ?? { now: () => new Date() })
  const violations: Violation[] = []
  const edition = options.edition ?? 'github.com'
  const people = new People(world)
  const teams = new Teams(world, people)
  const requests = new RequestLog()
  const faults = new Faults()
  const tokens = new TokenIssuer(world)
  const limits = new RateLimits(world, options.limits ?? {})
  const { record: app, identity } = makeApp(world, people, tokens, options)
  const actionsApp = makeActionsApp(world, people)
  const installations = new Installations(world, app, tokens)
  const deliveries = new DeliveryLog(
    world,
    validator,
    violations,
    () => app.id,
    () => installations.all,
  )
  installations.onEvent(event => deliveries.emit(event))
  const repositories = new Repositories(world, people, {
    added: (repository, installed) => installations.cover(repository, installed),
    renamed: (record, from, by) =>
      deliveries.emit(repositoryEvent(world, 'renamed', record, by, { repository: { name: { from } } })),
  })
  const issues = new Issues(world, deliveries)
  const oidc = new Oidc(world, faults, edition)
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'github-double-'))
  const workflowOf = (run: { repository: { id: number }; workflow: { id: number } }) =>
    repositories.byId(run.repository.id)?.workflows.find(one => one.id === run.workflow.id)

  const runs: Runs = new Runs(
    {
      world,
      directory,
      actionDirectory: options.action ?? resolve(import.meta.dirname, '../..'),
      actions: options.actions ?? {},
      node: options.node ?? process.execPath,
      extraEnvironment: options.runnerEnvironment ?? {},
      checkRunId: edition === 'github.com',
      slots: new Slots(options.slots ?? 4),
      issueJobToken: (run, job, permissions) =>
        tokens.issue(
          'ghs_',
          {
            kind: 'job',
            app: actionsApp,
            user: actionsApp.bot,
            repository: run.repository.id,
            permissions,
            job: job.id,
            run: run.id,
          },
          24 * 3600,
        ),
      revokeJobToken: token => tokens.revoke(token),
      openOidc: (run, job) => oidc.open(run, job),
      closeOidc: token => oidc.close(token),
      onProcess: () => {},
      survivor: () => {},
      event: (action, run, attempt) => {
        const workflow = workflowOf(run)
        if (workflow) deliveries.emit(runEvent(world, action, run, attempt, workflow))
      },
    },
    people,
    repositories,
    (run, attempt) => {
      const workflow = workflowOf(run)
      if (workflow) deliveries.emit(runEvent(world, 'requested', run, attempt, workflow))
    },
  )
  const services: Services = {
    world,
    app,
    installations: installations.all,
    people,
    teams,
    repositories,
    issues,
    runs,
    tokens,
    deliveries,
    requests,
    faults,
    limits,
    validator,
    violations,
    returnRunDetails: edition === 'github.com',
  }
  const login = new Login(world, tokens, app, identity.clientSecret)
  const hono = new Hono()
  for (const part of [oidc.routes(), login.routes(), pages(repositories, runs), graphqlRoute(services)])
    hono.route('/', part)
  hono.route(
    '/',
    createApi(services, [
      ...appRoutes,
      ...metaRoutes,
      ...peopleRoutes,
      ...repositoryRoutes,
      ...issueRoutes,
      ...actionsRoutes,
    ]),
  )
  const server = await listen(hono, options.port ?? 0)
  world.apiUrl = world.serverUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const person = (user: Parameters<GitHubDouble['comment']>[1]) => ({ user, via: null })
  const assertValid = () => {
    if (violations.length === 0) return
    throw new Error(
      `GitHub's description was broken:\n${violations.map(v => `  ${v.where}: ${v.part}: ${v.message}`).join('\n')}`,
    )
  }
  return {
    apiUrl: world.apiUrl,
    serverUrl: world.serverUrl,
    graphqlUrl: `${world.apiUrl}/graphql`,
    oidcIssuer: oidc.issuer,
    app: identity,
    users: people,
    teams,
    repositories,
    installations,
    tokens,
    deliveries,
    requests,
    faults,
    limits,
    runs,
    oidc,
    login,
    violations,
    comment: (issue, user, body) => issues.comment(issue, person(user), body),
    editComment: (comment, body, editor) => issues.editComment(comment, person(editor ?? comment.user), body),
    deleteComment: (comment, by) => issues.deleteComment(comment, by ?? comment.user),
    editIssue: (issue, change, editor) => issues.update(issue, person(editor), change),
    closeIssue: (issue, by, commit) => issues.update(issue, person(by), { state: 'closed', commit }),
    reopenIssue: (issue, by) => issues.update(issue, person(by), { state: 'open' }),
    deleteIssue: (issue, by) => issues.delete(issue, by),
    transferIssue: (issue, to, by) => issues.transfer(issue, to.record, by),
    openIssue: (repository, user, { title, body = '', labels = [] }) =>
      issues.create(repository.record, person(user), { title, body, labels, assignees: [] }),
    startRun: (repository, path, start) => runs.start(repository, path, start),
    until: (predicate, timeoutMs = 20_000) =>
      world.until(predicate, timeoutMs, () => `last requests:\n${requests.tail()}`),
    assertValid,
    close: async () => {
      await runs.close()
      await new Promise<void>(done => {
        server.close(() => done())
        server.closeAllConnections()
      })
      if (options.directory === undefined && existsSync(directory)) rmSync(directory, { recursive: true, force: true })
      assertValid()
    },
  }
}

function listen(hono: Hono, port: number): Promise<Server> {
  return new Promise((done, reject) => {
    const server = serve({ fetch: hono.fetch, hostname: '127.0.0.1', port }, () => done(server)) as Server
    server.on('error', reject)
  })
}

function makeApp(
  world: World,
  people: People,
  tokens: TokenIssuer,
  options: GitHubOptions,
): { record: AppRecord; identity: AppIdentity } {
  const { privateKey, publicKey } = sharedRsaPair('app')
  const owner = people.add({ login: 'agentctl-makers', type: 'Organization' })
  const slug = 'agentctl-double'
  const record: AppRecord = {
    id: world.id(),
    clientId: 'Iv23liDOUBLEDOUBLE00',
    slug,
    name: 'agentctl double',
    owner,
    bot: people.add({ login: `${slug}[bot]`, type: 'Bot' }),
    permissions: { ...(options.appPermissions ?? APP_PERMISSIONS) },
    events: APP_EVENTS,
    createdAt: world.now(),
  }
  const clientSecret = 'double-client-secret-0123456789abcdef0123'
  tokens.registerApp(record, publicKey.export({ type: 'spki', format: 'pem' }) as string, clientSecret)
  const identity: AppIdentity = {
    id: record.id,
    slug,
    botId: record.bot.id,
    clientId: record.clientId,
    clientSecret,
    privateKeyPem: privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
    privateKeyPkcs8Pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    record,
  }
  return { record, identity }
}

/** GitHub's own App behind every GITHUB_TOKEN, with its real ids. */
function makeActionsApp(world: World, people: People): AppRecord {
  return {
    id: ACTIONS_APP_ID,
    clientId: 'Iv1.05c79e9ad1f6bdfa',
    slug: 'github-actions',
    name: 'GitHub Actions',
    owner: people.add({ login: 'github', id: 9919, type: 'Organization' }),
    bot: people.add({ login: 'github-actions[bot]', id: ACTIONS_BOT_ID, type: 'Bot' }),
    permissions: {},
    events: [],
    createdAt: world.now(),
  }
}
