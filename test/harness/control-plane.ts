import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { GitHubDouble } from '../github/index.ts'

const root = resolve(import.meta.dirname, '../..')

export type ControlPlaneEngine = 'node' | 'worker'

export interface ControlPlaneOptions {
  engine?: ControlPlaneEngine
  /** Extra or other environment variables (09, Control plane configuration). */
  environment?: { readonly [name: string]: string }
  /** Milliseconds to wait for /readyz. Default 60,000: workerd starts slowly on a loaded machine. */
  startTimeoutMs?: number
}

/** A control plane as its own process, configured for one GitHub double. */
export interface ControlPlane {
  url: string
  webhookSecret: string
  /** Directory of the ledgers (Node) or of the workerd state. */
  data: string
  /** Everything it printed. */
  log(): string
  /** SIGKILL and a new process on the same data and address: what a crash or a deploy is. */
  restart(): Promise<void>
  /** Ends it and waits until it is gone; `start` brings it back on the same data. */
  down(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}

/** What webhooks are signed with. */
export const webhookSecret = 'whsec-of-the-demo-and-tests'

/** A control plane's environment variables for this double. */
export function environmentFor(github: GitHubDouble, { port, url, data }: { port: number; url: string; data: string }) {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: data,
    PORT: String(port),
    AGENTCTL_DATA: data,
    AGENTCTL_PUBLIC_URL: url,
    GITHUB_API_URL: github.apiUrl,
    GITHUB_SERVER_URL: github.serverUrl,
    GITHUB_WEBHOOK_SECRETS: webhookSecret,
    GITHUB_APP_ID: String(github.app.id),
    GITHUB_APP_PRIVATE_KEY: github.app.privateKeyPem,
    GITHUB_APP_CLIENT_ID: github.app.clientId,
    GITHUB_APP_CLIENT_SECRET: github.app.clientSecret,
    OIDC_ISSUER: github.oidcIssuer,
    AGENTCTL_SESSION_KEY: 'a1'.repeat(32),
    WRANGLER_SEND_METRICS: 'false',
  }
}

/** Starts the control plane for this double and waits until it is ready; registers the App's webhook. */
export async function startControlPlane(
  github: GitHubDouble,
  options: ControlPlaneOptions = {},
): Promise<ControlPlane> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const data = await mkdtemp(join(tmpdir(), 'agentctl-data-'))
  const environment = { ...environmentFor(github, { port, url, data }), ...options.environment }
  const entry = options.engine === 'worker' ? 'control-plane/dev.ts' : 'control-plane/server.ts'
  let child: ChildProcess | null = null
  let printed = ''

  async function start(): Promise<void> {
    const process_ = spawn(process.execPath, [join(root, entry)], {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = process_
    process_.stdout?.on('data', chunk => (printed += chunk))
    process_.stderr?.on('data', chunk => (printed += chunk))
    const deadline = Date.now() + (options.startTimeoutMs ?? 60_000)
    for (;;) {
      if (process_.exitCode !== null || process_.signalCode !== null)
        throw new Error(`the control plane ended at start:\n${printed}`)
      const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
        answer => answer.ok,
        () => false,
      )
      if (ready) return
      if (Date.now() > deadline) {
        await end('SIGKILL')
        throw new Error(`the control plane was not ready in time:\n${printed}`)
      }
      // Not a sleep for luck: the loop ends on readiness, on the child's end, or at the deadline.
      await new Promise(done => setTimeout(done, 50))
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    await gone
  }

  await start()
  github.deliveries.addHook({ url: `${url}/webhooks/github`, secret: webhookSecret })
  return {
    url,
    webhookSecret,
    data,
    log: () => printed,
    start,
    down: () => end('SIGTERM'),
    restart: async () => {
      // workerd runs below dev.ts: only a signal that dev.ts can hand on ends both.
      await end(options.engine === 'worker' ? 'SIGTERM' : 'SIGKILL')
      await start()
    },
    close: async () => {
      await end('SIGTERM')
      await rm(data, { recursive: true, force: true })
    },
  }
}
