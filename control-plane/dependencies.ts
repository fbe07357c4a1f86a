import type { Clock, Ids } from '../policy/ports.ts'
import type { Config } from './config.ts'
import type { Directory } from './directory/directory.ts'
import type { RepositoryHandle } from './repository/handle.ts'

/** Everything that the app needs of the world; each entry hands in its own. */
export interface Dependencies {
  config: Config
  clock: Clock
  ids: Ids
  fetch: typeof fetch
  repositories: Repositories
  directory: Directory
  log: Log
  limiter: Limiter
  /** Address that a request came from, for limits on callers who have not proved who they are. */
  addressOf(request: Request, env: unknown): string
  /** Request counters, on Node only. */
  metrics: Metrics | null
}

/** One repository per numeric id; a handle exists for every id and costs nothing until called. */
export interface Repositories {
  get(id: number): RepositoryHandle
}

/** One line of JSON per event; never a token, never a secret. */
export interface Log {
  info(event: string, data?: LogData): void
  error(event: string, data?: LogData): void
}
export type LogData = { [key: string]: string | number | boolean | null }

/** Rate limits per caller. */
export interface Limiter {
  /** Whether `key` may make one more request of this kind now. */
  allow(kind: LimitKind, key: string): Promise<boolean>
}
export type LimitKind = 'anonymous' | 'job' | 'person'

export interface Metrics {
  observe(method: string, route: string, status: number, seconds: number): void
  render(): string
}
