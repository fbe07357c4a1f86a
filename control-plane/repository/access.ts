import type { Clock } from '../../policy/ports.ts'
import type { PersonClaims } from '../auth/claims.ts'
import type { GitHubRepository } from '../github/index.ts'
import { problem } from '../problem.ts'
import { githubProblem } from './refusals.ts'

const keepMs = 60_000
const keepAtMost = 5_000

// Legacy permissions: triage shows as read, maintain as write.
const enough = { read: ['read', 'write', 'admin'], write: ['write', 'admin'] } as const

/** What people may do in one repository, kept for 60 s; a failure to know is never kept and never a yes. */
export class AccessMemory {
  readonly #clock: Clock
  readonly #known = new Map<number, { permission: string; until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws ProblemError 403 where the person may not, 503 where GitHub does not say. */
  async check(github: GitHubRepository, person: PersonClaims, wanted: 'read' | 'write', fresh: boolean): Promise<null> {
    const permission = (fresh ? null : this.#kept(person.id)) ?? (await this.#ask(github, person))
    if (enough[wanted].some(one => one === permission)) return null
    throw problem(403, 'forbidden', `${person.login} needs ${wanted} permission on this repository`)
  }

  #kept(id: number): string | null {
    const known = this.#known.get(id)
    return known !== undefined && this.#clock.now().getTime() < known.until ? known.permission : null
  }

  async #ask(github: GitHubRepository, person: PersonClaims): Promise<string> {
    this.#known.delete(person.id)
    const now = this.#clock.now()
    const answer = await github.permission(person.login)
    if (!answer.ok && answer.code === 'not_found')
      throw problem(403, 'forbidden', `${person.login} has no part in this repository`)
    if (!answer.ok) throw githubProblem(answer, `what ${person.login} may do`, now)
    // A login can be given up and taken by somebody else between two requests.
    const permission = answer.value.user.id === person.id ? answer.value.permission : 'none'
    if (this.#known.size >= keepAtMost) this.#known.clear()
    this.#known.set(person.id, { permission, until: now.getTime() + keepMs })
    return permission
  }
}
