import type { Hono } from 'hono'
import { systemClock, systemIds } from '../ledger/index.ts'
import { createApp } from './app.ts'
import { ConfigError } from './config.ts'
import { cachedDirectory } from './directory/cached.ts'
import { lineLog } from './log.ts'
import { problemResponse } from './problem.ts'
import { handleOver } from './repository/remote-handle.ts'
import { configOf, directoryOf, limiterOf, type WorkerEnv } from './worker-env.ts'

export { DirectoryObject, RepositoryObject } from './worker-objects.ts'

const apps = new WeakMap<object, Hono>()

export default {
  async fetch(request: Request, env: WorkerEnv, context: unknown): Promise<Response> {
    try {
      return await appOf(env).fetch(request, env, context as Parameters<Hono['fetch']>[2])
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      console.error(`agentctl control plane does not start: ${error.message}`)
      const message = 'the control plane is not configured: its log names the variable'
      return problemResponse({ status: 503, code: 'not_configured', message, retryAfter: null })
    }
  },
}

function appOf(env: WorkerEnv): Hono {
  const known = apps.get(env)
  if (known !== undefined) return known
  const app = createApp({
    config: configOf(env),
    clock: systemClock,
    ids: systemIds,
    fetch: (input, init) => fetch(input, init),
    log: lineLog(systemClock, line => console.log(line)),
    repositories: {
      get: id =>
        handleOver((method, args) => env.REPOSITORY.get(env.REPOSITORY.idFromName(String(id))).call(id, method, args)),
    },
    directory: cachedDirectory(directoryOf(env), systemClock),
    limiter: limiterOf(env, systemClock),
    metrics: null,
    addressOf: request => request.headers.get('cf-connecting-ip') ?? 'unknown',
  })
  apps.set(env, app)
  return app
}
