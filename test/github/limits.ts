import { ApiError, primaryLimit, secondaryLimit } from './errors.ts'
import type { Caller } from './tokens.ts'
import type { World } from './world.ts'

/**
 * GitHub's documented figures: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api and
 * https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
 */
export interface LimitSettings {
  /** Requests an hour of an installation or a person; GraphQL counts as many points of its own. */
  perHour: number
  /** Requests an hour of all GITHUB_TOKENs of one repository; GraphQL points likewise. */
  jobsPerHour: number
  /** Requests that create content, of one caller. */
  contentPerMinute: number
  contentPerHour: number
  /** Secondary points a minute of one caller at one endpoint: a read is 1, a write 5, a query 1. */
  pointsPerMinute: number
  graphqlPointsPerMinute: number
  /** Status of a refusal; GitHub answers with either. */
  status: 403 | 429
}

export const githubLimits: LimitSettings = {
  perHour: 5000,
  jobsPerHour: 1000,
  contentPerMinute: 80,
  contentPerHour: 500,
  pointsPerMinute: 900,
  graphqlPointsPerMinute: 2000,
  status: 403,
}

const MINUTE = 60_000
const HOUR = 3_600_000

interface Account {
  windowStart: number
  used: number
  /** Times of content-creating requests of the last hour. */
  content: number[]
  /** Times of points of the last minute by endpoint. */
  points: Map<string, number[]>
}

export type Resource = 'core' | 'graphql'

/** Counts requests by who makes them and refuses above the limits; settings may be changed while it runs. */
export class RateLimits {
  settings: LimitSettings
  readonly #world: World
  readonly #accounts = new Map<string, Account>()

  constructor(world: World, settings: Partial<LimitSettings>) {
    this.#world = world
    // Who lets more content through means that its points pass too.
    const pointsPerMinute = Math.max(githubLimits.pointsPerMinute, 5 * (settings.contentPerMinute ?? 0))
    this.settings = { ...githubLimits, pointsPerMinute, ...settings }
  }

  /** Counts one request; throws GitHub's refusal. Answers the x-ratelimit headers. */
  charge(
    caller: Caller,
    request: { resource: Resource; endpoint: string; writes: boolean; createsContent: boolean },
  ): { [name: string]: string } {
    const { resource } = request
    const now = this.#world.now().getTime()
    const account = this.#account(`${holder(caller)} ${resource}`, now)
    const { perHour, jobsPerHour, status } = this.settings
    const limit = caller.kind === 'job' ? jobsPerHour : perHour
    if (account.used >= limit) throw primaryLimit(status, words(caller), headers(account, limit, resource))
    account.used++
    try {
      this.#points(account, now, request)
      if (request.createsContent) this.#content(account, now)
    } catch (error) {
      if (error instanceof ApiError) Object.assign(error.headers, headers(account, limit, resource))
      throw error
    }
    return headers(account, limit, resource)
  }

  /** What GET /rate_limit tells, which costs nothing. */
  state(caller: Caller, resource: Resource): { limit: number; used: number; remaining: number; reset: number } {
    const limit = caller.kind === 'job' ? this.settings.jobsPerHour : this.settings.perHour
    const { used, windowStart } = this.#account(`${holder(caller)} ${resource}`, this.#world.now().getTime())
    return { limit, used, remaining: Math.max(limit - used, 0), reset: Math.ceil((windowStart + HOUR) / 1000) }
  }

  /** From now on, until its hour is over, this installation's account is empty; for tests. */
  spend({ installation }: { installation: number }, resource: Resource): void {
    this.#account(`installation ${installation} ${resource}`, this.#world.now().getTime()).used = this.settings.perHour
  }

  #points(
    account: Account,
    now: number,
    { resource, endpoint, writes }: { resource: Resource; endpoint: string; writes: boolean },
  ): void {
    const most = resource === 'core' ? this.settings.pointsPerMinute : this.settings.graphqlPointsPerMinute
    const cost = writes ? 5 : 1
    const points = (account.points.get(endpoint) ?? []).filter(at => at > now - MINUTE)
    const first = points[0]
    if (first !== undefined && points.length + cost > most) throw this.#secondary(first + MINUTE - now)
    account.points.set(endpoint, [...points, ...Array<number>(cost).fill(now)])
  }

  #content(account: Account, now: number): void {
    account.content = account.content.filter(at => at > now - HOUR)
    const minute = account.content.filter(at => at > now - MINUTE)
    const first = minute.length >= this.settings.contentPerMinute ? minute[0] : undefined
    if (first !== undefined) throw this.#secondary(first + MINUTE - now)
    const oldest = account.content.length >= this.settings.contentPerHour ? account.content[0] : undefined
    if (oldest !== undefined) throw this.#secondary(oldest + HOUR - now)
    account.content.push(now)
  }

  #secondary(milliseconds: number): ApiError {
    return secondaryLimit(Math.max(Math.ceil(milliseconds / 1000), 1), this.settings.status)
  }

  #account(key: string, now: number): Account {
    const known = this.#accounts.get(key)
    if (known && now < known.windowStart + HOUR) return known
    const fresh: Account = {
      windowStart: now,
      used: 0,
      content: known?.content ?? [],
      points: known?.points ?? new Map(),
    }
    this.#accounts.set(key, fresh)
    return fresh
  }
}

const headers = ({ used, windowStart }: Account, limit: number, resource: Resource): { [name: string]: string } => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(Math.max(limit - used, 0)),
  'x-ratelimit-used': String(used),
  'x-ratelimit-reset': String(Math.ceil((windowStart + HOUR) / 1000)),
  'x-ratelimit-resource': resource,
})

/** Whose account it is: an installation's, all jobs' of a repository, a person's. */
function holder(caller: Caller): string {
  if (caller.kind === 'installation') return `installation ${caller.installation.id}`
  if (caller.kind === 'job') return `repository ${caller.repository}`
  return caller.kind === 'user' ? `user ${caller.user.id}` : caller.kind
}

const words = (caller: Caller): string => {
  if (caller.kind === 'user') return `user ID ${caller.user.id}`
  return `installation ID ${caller.kind === 'installation' ? caller.installation.id : caller.kind === 'job' ? caller.repository : 0}`
}
