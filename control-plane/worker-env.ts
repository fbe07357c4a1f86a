import type { Clock } from '../policy/ports.ts'
import { type Config, parseConfig } from './config.ts'
import type { Limiter, LimitKind } from './dependencies.ts'
import type { Directory } from './directory/directory.ts'
import { processLimiter } from './limiter.ts'
import type { HandleMethod } from './repository/remote-handle.ts'

interface Namespace<Stub> {
  get(id: unknown): Stub
  idFromName(name: string): unknown
}

/** Bindings of the Worker; beside them stand the vars and secrets that `parseConfig` reads. */
export interface WorkerEnv {
  REPOSITORY: Namespace<{ call(id: number, method: HandleMethod, args: unknown[]): Promise<unknown> }>
  DIRECTORY: Namespace<Directory>
  LIMIT_ANONYMOUS?: RateLimit
  LIMIT_JOB?: RateLimit
  LIMIT_PERSON?: RateLimit
}

interface RateLimit {
  limit(of: { key: string }): Promise<{ success: boolean }>
}

const configs = new WeakMap<object, Config>()

/** The Worker's configuration, read once an isolate. Throws ConfigError. */
export function configOf(env: WorkerEnv): Config {
  const known = configs.get(env)
  if (known !== undefined) return known
  const config = parseConfig(env as unknown as { [name: string]: unknown })
  configs.set(env, config)
  return config
}

/** The one directory of this Worker. Its stub is made anew for each call: one may not outlive the request it was made in. */
export function directoryOf(env: WorkerEnv): Directory {
  const stub = () => env.DIRECTORY.get(env.DIRECTORY.idFromName('directory'))
  return {
    remember: repository => stub().remember(repository),
    find: (owner, name) => stub().find(owner, name),
    update: (id, state) => stub().update(id, state),
    pending: (after, limit) => stub().pending(after, limit),
    due: now => stub().due(now),
  }
}

/** The platform's rate limits, where they are bound; else limits within this isolate. */
export function limiterOf(env: WorkerEnv, clock: Clock): Limiter {
  const own = processLimiter(clock)
  const bound: { [Kind in LimitKind]: RateLimit | undefined } = {
    anonymous: env.LIMIT_ANONYMOUS,
    job: env.LIMIT_JOB,
    person: env.LIMIT_PERSON,
  }
  return {
    async allow(kind, key) {
      const limit = bound[kind]
      return limit === undefined ? own.allow(kind, key) : (await limit.limit({ key })).success
    },
  }
}
