import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { type Config, parseConfig } from '../../control-plane/config.ts'
import { directoryOver } from '../../control-plane/directory/over-tables.ts'
import { DirectoryTables } from '../../control-plane/directory/tables.ts'
import { githubFor } from '../../control-plane/github/index.ts'
import type { RepositoryContext } from '../../control-plane/repository/context.ts'
import type { RepositoryHandle } from '../../control-plane/repository/handle.ts'
import { repositoryService } from '../../control-plane/repository/service.ts'
import { webhookRoute } from '../../control-plane/webhooks/index.ts'
import { LedgerStore, openNodeSql, systemIds } from '../../ledger/index.ts'
import type { Clock } from '../../policy/ports.ts'
import type { GitHubDouble, Issue, Repository, RunContext, RunHandle, User } from '../github/index.ts'
import { startGitHub } from '../github/index.ts'

/** The system's clock, moved forward as a test likes. */
export class MovingClock implements Clock {
  #offset = 0
  now(): Date {
    return new Date(Date.now() + this.#offset)
  }
  advance(seconds: number): void {
    this.#offset += seconds * 1000
  }
}

export const secret = 'webhook secret'
const workflowPath = '.github/workflows/release.yml'

/** What stands between a test and the world: the double, one repository of the control plane on disk, its webhook on HTTP. */
export interface World {
  github: GitHubDouble
  clock: MovingClock
  repository: Repository
  config: Config
  /** The same ledger file as the service's, through a connection of its own. */
  store: LedgerStore
  service: RepositoryHandle
  context: RepositoryContext
  /** Lines that were logged. */
  logged: string[]
  people: { owner: User; alice: User; bob: User; reader: User; triager: User; actionsBot: User }
  /** What a job of the workflow does, by job display name; the default fails, as a paused Action does. */
  onJob: (context: RunContext) => void | Promise<void>
  startRun(options?: Parameters<GitHubDouble['startRun']>[2]): Promise<RunHandle>
  /** Until no delivery travels, no run is under way and nothing is due. */
  settle(): Promise<void>
  issue(number: number): Issue
  close(): Promise<void>
}

export interface WorldOptions {
  files?: { [path: string]: string }
  matrix?: readonly string[]
  owner?: 'User' | 'Organization'
  on?: readonly string[]
  /** Further repositories, by full name with their files. */
  others?: { [name: string]: { [path: string]: string } }
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = new MovingClock()
  const github = await startGitHub({ clock })
  for (const [name, files] of Object.entries(options.others ?? {})) {
    github.repositories.add({ name, files, ownerType: options.owner ?? 'Organization' })
  }
  const repository = github.repositories.add({
    name: 'org/app',
    ownerType: options.owner ?? 'Organization',
    files: options.files ?? {},
    collaborators: { owner: 'admin', alice: 'write', bob: 'write', reader: 'read', triager: 'triage' },
    workflows: [
      {
        name: 'release',
        path: workflowPath,
        on: options.on ?? ['push', 'workflow_dispatch'],
        inputs: { 'agentctl-run': { default: '' } },
        jobs: {
          release: {
            ...(options.matrix && { strategy: { matrix: { part: options.matrix }, 'fail-fast': false } }),
            steps: [{ run: context => world.onJob(context) }],
          },
        },
      },
    ],
  })
  const directory = mkdtempSync(join(tmpdir(), 'control-plane-work-'))
  const config = configFor(github)
  const tables = new DirectoryTables(openNodeSql(join(directory, 'directory.sqlite')))
  const file = join(directory, `${repository.id}.sqlite`)
  const sql = openNodeSql(file)
  const logged: string[] = []
  let isOpen = true
  const log = (event: string, data?: object) => void logged.push(`${event} ${JSON.stringify(data ?? {})}`)
  const ports = { config, clock, ids: systemIds, fetch: globalThis.fetch, log: { info: log, error: log } }
  const service: RepositoryHandle = repositoryService(repository.id, {
    ...ports,
    directory: directoryOver(tables),
    sql: () => sql,
    schedule: due => {
      if (due === null || due > clock.now().toISOString()) return
      setImmediate(() => {
        if (isOpen) void service.tick()
      })
    },
    hold: () => () => undefined,
  })
  const own = openNodeSql(file)
  const name = { id: repository.id, owner: 'org', name: 'app' }
  const store = new LedgerStore(own, { clock, ids: systemIds, ledger: String(repository.id) })
  const context: RepositoryContext = {
    ...ports,
    store,
    github: githubFor(config, ports.fetch, clock, name),
    repository: name,
  }
  const app = new Hono().route(
    '/',
    webhookRoute({ config, clock, repositories: { get: () => service }, directory: directoryOver(tables) }),
  )
  app.onError(() => new Response('busy', { status: 500 }))
  const server = await listen(app)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/github`
  github.deliveries.addHook({ url, secret })
  const isBusy = () =>
    github.runs.all.some(run => run.attempts.at(-1)?.status !== 'completed') || isDue(store.nextDue(), clock)

  // Any proved delivery or token names the repository; until then there is nothing to work on.
  const payload = { action: 'renamed' }
  const receivedAt = clock.now().toISOString()
  const first = { delivery: 'first', event: 'repository', action: 'renamed', comment: null, payload, receivedAt }
  await service.deliver({ ...first, repository: name })

  const world: World = {
    github,
    clock,
    repository,
    config,
    store,
    service,
    context,
    logged,
    people: {
      owner: github.users.ensure('owner'),
      alice: github.users.ensure('alice'),
      bob: github.users.ensure('bob'),
      reader: github.users.ensure('reader'),
      triager: github.users.ensure('triager'),
      actionsBot: github.users.ensure('github-actions[bot]'),
    },
    onJob: () => {
      throw new Error('paused')
    },
    async startRun(start = {}) {
      const handle = github.startRun(repository, workflowPath, { actor: 'owner', ...start })
      await handle.completed()
      return handle
    },
    async settle() {
      for (let round = 0; round < 100; round++) {
        await github.deliveries.idle()
        await service.tick()
        await github.deliveries.idle()
        if (!isBusy()) return
        await github.until(() => github.runs.all.every(run => run.attempts.at(-1)?.status === 'completed'))
      }
      throw new Error('the work does not end')
    },
    issue: number => repository.issue(number),
    async close() {
      await github.deliveries.idle()
      isOpen = false
      await service.tick()
      await new Promise<void>(done => server.close(() => done()))
      own.close()
      sql.close()
      rmSync(directory, { recursive: true, force: true })
      await github.close()
    },
  }
  return world
}

function isDue(time: string | null, clock: Clock): boolean {
  return time !== null && time <= clock.now().toISOString()
}

export function configFor(github: GitHubDouble, more: { [name: string]: string } = {}): Config {
  return parseConfig({
    AGENTCTL_PUBLIC_URL: 'https://agentctl.example.dev',
    GITHUB_API_URL: github.apiUrl,
    GITHUB_SERVER_URL: github.serverUrl,
    GITHUB_WEBHOOK_SECRETS: `${secret},former secret`,
    GITHUB_APP_ID: String(github.app.id),
    GITHUB_APP_PRIVATE_KEY: github.app.privateKeyPem,
    AGENTCTL_SESSION_KEY: 'ab'.repeat(32),
    ...more,
  })
}

function listen(app: Hono): Promise<Server> {
  return new Promise(done => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => done(server as Server))
  })
}
