import type { RepositoryAccess } from './access.ts'
import type { DeliveryLog } from './deliveries.ts'
import type { Faults } from './faults.ts'
import type { Issues } from './issues.ts'
import type { RateLimits } from './limits.ts'
import type { AppRecord, Installation } from './model.ts'
import type { Operation } from './openapi/operations.ts'
import type { Validator, Violation } from './openapi/validator.ts'
import type { People, Teams } from './people.ts'
import type { Repositories } from './repositories.ts'
import type { Repository } from './repository.ts'
import type { RequestLog } from './requests.ts'
import type { Runs } from './runner/runs.ts'
import type { Caller, TokenIssuer } from './tokens.ts'
import type { World } from './world.ts'

/** Everything that the routes act on. */
export interface Services {
  world: World
  app: AppRecord
  installations: Installation[]
  people: People
  teams: Teams
  repositories: Repositories
  issues: Issues
  runs: Runs
  tokens: TokenIssuer
  deliveries: DeliveryLog
  requests: RequestLog
  faults: Faults
  limits: RateLimits
  validator: Validator
  violations: Violation[]
  /** github.com answers dispatches with the run's id when asked; GHES does not. */
  returnRunDetails: boolean
}

export interface Call {
  services: Services
  params: { readonly [name: string]: string }
  query: { readonly [name: string]: string }
  body: { readonly [name: string]: unknown }
  caller: Caller
  /** Throws where the path names none. */
  readonly repository: Repository
}

/** An answer; a list is paginated by the framework. */
export type Answer =
  | { status: number; body?: unknown }
  | { list: readonly unknown[]; wrap?: (page: unknown[], total: number) => unknown }

export type Access =
  | { kind: 'repository'; access: RepositoryAccess }
  /** The App's own JWT. */
  | { kind: 'app' }
  /** Client id and secret. */
  | { kind: 'client' }
  | { kind: 'installation' }
  | { kind: 'person' }
  /** A person of the organisation, or an installation on it with `members: read`. */
  | { kind: 'members' }
  | { kind: 'anyone' }

export interface Route {
  operation: Operation
  access: Access
  handle(call: Call): Answer
}

/** Shorthand for a repository route's access. */
export const onRepository = (
  permission: RepositoryAccess['permission'],
  role: RepositoryAccess['role'] = 'read',
): Access => ({
  kind: 'repository',
  access: { permission, role },
})
