import { serve } from '@hono/node-server'
import { systemClock, systemIds } from '../ledger/index.ts'
import { LedgerError } from '../ledger/port.ts'
import { ConfigError, type NodeConfig, parseNodeConfig } from './config.ts'
import { lineLog } from './log.ts'
import { nodeApp } from './node-app.ts'

/** How long open requests may take to end once the server is told to stop, in milliseconds. */
const drainMs = 10_000

/** Starts the control plane on Node (PORT 0 = any free port); answers its port and how to stop it gracefully. */
export async function startServer(config: NodeConfig): Promise<{ port: number; stop: () => Promise<void> }> {
  const log = lineLog(systemClock, line => process.stderr.write(`${line}\n`))
  const { app, close } = nodeApp(config, { clock: systemClock, ids: systemIds, fetch: globalThis.fetch, log })
  const { promise: listening, resolve, reject } = Promise.withResolvers<number>()
  const server = serve({ fetch: app.fetch, port: config.port }, ({ port }) => resolve(port))
  server.once('error', reject)
  const port = await listening
  log.info('server.started', { port, publicUrl: config.publicUrl })

  async function stop(): Promise<void> {
    const { promise: closed, resolve: done } = Promise.withResolvers<void>()
    server.close(() => done())
    if ('closeIdleConnections' in server) server.closeIdleConnections()
    const force = setTimeout(() => 'closeAllConnections' in server && server.closeAllConnections(), drainMs)
    await closed
    clearTimeout(force)
    await close()
    log.info('server.stopped')
  }
  return { port, stop }
}

async function main(): Promise<void> {
  try {
    const { stop } = await startServer(parseNodeConfig(process.env))
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        void stop().then(() => process.exit(0))
      })
    }
  } catch (error) {
    const isConfig = error instanceof ConfigError
    if (!isConfig && !(error instanceof LedgerError) && portFault(error) === null) throw error
    process.stderr.write(
      `agentctl control plane does not start: ${portFault(error) ?? String((error as Error).message)}\n`,
    )
    process.exit(isConfig ? 2 : 5)
  }
}

/** Why the port cannot be had, null where the fault is another. */
function portFault(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error && 'port' in error)) return null
  if (error.code === 'EADDRINUSE') return `port ${error.port} is taken: set PORT to a free one`
  return error.code === 'EACCES' ? `port ${error.port} is not allowed: set PORT to one above 1023` : null
}

if (import.meta.main) await main()
