import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Hono } from 'hono'
import { openNodeSql } from '../ledger/index.ts'
import type { Clock, Ids } from '../policy/ports.ts'
import { createApp } from './app.ts'
import type { NodeConfig } from './config.ts'
import type { Log } from './dependencies.ts'
import { cachedDirectory } from './directory/cached.ts'
import { directoryOver } from './directory/over-tables.ts'
import { DirectoryTables } from './directory/tables.ts'
import { processLimiter } from './limiter.ts'
import { processMetrics } from './metrics.ts'
import { NodeRepositories } from './repository/node.ts'

/** What the Node entry hands in. */
export interface NodeWorld {
  clock: Clock
  ids: Ids
  fetch: typeof fetch
  log: Log
}

/** The app over ledgers in AGENTCTL_DATA; work that came due while nothing ran is started at once. */
export function nodeApp(config: NodeConfig, world: NodeWorld): { app: Hono; close: () => Promise<void> } {
  const sql = openNodeSql(join(config.data, 'directory.sqlite'))
  const tables = new DirectoryTables(sql)
  const directory = cachedDirectory(directoryOver(tables), world.clock)
  const repositories = new NodeRepositories({ ...world, config, directory, data: config.data })
  const app = createApp({
    ...world,
    config,
    directory,
    repositories,
    limiter: processLimiter(world.clock),
    metrics: processMetrics(),
    addressOf,
  })
  for (const { id, due } of tables.scheduled()) repositories.schedule(id, due)
  repositories.lookThroughAll()
  return {
    app,
    async close() {
      await repositories.close()
      sql.close()
    },
  }
}

/** The peer of the connection. What a proxy says of the peer behind it is not believed: anybody can say it. */
function addressOf(_request: Request, env: unknown): string {
  const { incoming } = env as { incoming?: IncomingMessage }
  return incoming?.socket.remoteAddress ?? 'unknown'
}
