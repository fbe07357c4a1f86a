import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { parseNodeConfig } from '../../control-plane/config.ts'
import { lineLog } from '../../control-plane/log.ts'
import { nodeApp } from '../../control-plane/node-app.ts'
import { systemIds } from '../../ledger/index.ts'
import type { GitHubDouble } from '../github/index.ts'
import { type ControlPlane, environmentFor, freePort, webhookSecret } from './control-plane.ts'

/** The present, moved by as much as a test says; for the double and the control plane alike. */
export class MovedClock {
  #offsetMs = 0

  now(): Date {
    return new Date(Date.now() + this.#offsetMs)
  }

  advance(milliseconds: number): void {
    this.#offsetMs += milliseconds
  }
}

/**
 * The Node control plane in this process, on a clock that is handed in. Timers run by the real one: after the clock was
 * moved, `restart` has what fell due found, as a start after a long pause does.
 */
export function inProcess(clock: MovedClock): (github: GitHubDouble) => Promise<ControlPlane> {
  return async github => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const data = await mkdtemp(join(tmpdir(), 'agentctl-data-'))
    const config = parseNodeConfig(environmentFor(github, { port, url, data }))
    let printed = ''
    const log = lineLog(clock, line => (printed += `${line}\n`))
    let stop: (() => Promise<void>) | null = null

    async function start(): Promise<void> {
      const { app, close } = nodeApp(config, { clock, ids: systemIds, fetch, log })
      const { promise: listening, resolve } = Promise.withResolvers<void>()
      const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => resolve())
      await listening
      stop = async () => {
        const { promise: closed, resolve: done } = Promise.withResolvers<void>()
        server.close(() => done())
        if ('closeAllConnections' in server) server.closeAllConnections()
        await closed
        await close()
      }
    }
    async function down(): Promise<void> {
      await stop?.()
      stop = null
    }

    await start()
    github.deliveries.addHook({ url: `${url}/webhooks/github`, secret: webhookSecret })
    return {
      url,
      webhookSecret,
      data,
      log: () => printed,
      start,
      down,
      restart: async () => {
        await down()
        await start()
      },
      close: async () => {
        await down()
        await rm(data, { recursive: true, force: true })
      },
    }
  }
}
