import { primaryLimit, secondaryLimit } from './errors.ts'
import type { Caller } from './tokens.ts'
import type { World } from './world.ts'

/** GitHub's documented figures: https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api */
export interface LimitSettings {
  /** Requests an hour of an installation or a person. */
  perHour: number
  /** Requests an hour of all GITHUB_TOKENs of one repository. */
  jobsPerHour: number
  /** Requests that create content, of one caller. */
  contentPerMinute: number
  contentPerHour: number
}

export const githubLimits: LimitSettings = {
  perHour: 5000,
  jobsPerHour: 1000,
  contentPerMinute: 80,
  contentPerHour: 500,
}

const MINUTE = 60_000
const HOUR = 3_600_000

interface Account {
  windowStart: number
  used: number
  /** Times of content-creating requests of the last hour. */
  content: number[]
}

/** Counts requests by who makes them and refuses above the limits; settings may be changed while it runs. */
export class RateLimits {
  settings: LimitSettings
  readonly #world: World
  readonly #accounts = new Map<string, Account>()

  constructor(world: World, settings: Partial<LimitSettings>) {
    this.#world = world
    this.settings = { ...githubLimits, ...settings }
  }

  /** Counts one request; throws GitHub's refusal. Answers the x-ratelimit headers. */
  charge(caller: Caller, createsContent: boolean): { [name: string]: string } {
    const now = this.#world.now().getTime()
    const account = this.#account(caller, now)
    const limit = caller.kind === 'job' ? this.settings.jobsPerHour : this.settings.perHour
    const resetSeconds = Math.ceil((account.windowStart + HOUR) / 1000)
    if (account.used >= limit) throw primaryLimit(resetSeconds)
    account.used++
    if (createsContent) this.#content(account, now)
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(limit - account.used),
      'x-ratelimit-used': String(account.used),
      'x-ratelimit-reset': String(resetSeconds),
      'x-ratelimit-resource': 'core',
    }
  }

  #content(account: Account, now: number): void {
    account.content = account.content.filter(at => at > now - HOUR)
    const minute = account.content.filter(at => at > now - MINUTE)
    const first = minute.length >= this.settings.contentPerMinute ? minute[0] : undefined
    if (first !== undefined) throw secondaryLimit(Math.max(Math.ceil((first + MINUTE - now) / 1000), 1))
    const oldest = account.content.length >= this.settings.contentPerHour ? account.content[0] : undefined
    if (oldest !== undefined) throw secondaryLimit(Math.max(Math.ceil((oldest + HOUR - now) / 1000), 1))
    account.content.push(now)
  }

  #account(caller: Caller, now: number): Account {
    const key =
      caller.kind === 'installation'
        ? `installation ${caller.installation.id}`
        : caller.kind === 'job'
          ? `repository ${caller.repository}`
          : caller.kind === 'user'
            ? `user ${caller.user.id}`
            : caller.kind
    const known = this.#accounts.get(key)
    if (known && now < known.windowStart + HOUR) return known
    const fresh: Account = { windowStart: now, used: 0, content: known?.content ?? [] }
    this.#accounts.set(key, fresh)
    return fresh
  }
}
