import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { checkRepository, type RepositoryAccess } from './access.ts'
import type { DeliveryLog } from './deliveries.ts'
import {
  ApiError,
  badCredentials,
  moved,
  needsUserAgent,
  notByIntegration,
  notFound,
  problemsParsing,
  requiresAuthentication,
  unknownVersion,
} from './errors.ts'
import type { Faults } from './faults.ts'
import type { Issues } from './issues.ts'
import type { RateLimits } from './limits.ts'
import type { AppRecord, Installation } from './model.ts'
import type { Operation } from './openapi/operations.ts'
import type { Validator, Violation } from './openapi/validator.ts'
import type { People, Teams } from './people.ts'
import type { Repositories, Repository } from './repositories.ts'
import type { RequestLog } from './requests.ts'
import type { Runs } from './runner/runs.ts'
import { type Caller, describeCaller, type TokenIssuer } from './tokens.ts'
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

/** Path parameters whose value may hold slashes. */
const GREEDY = new Set(['path', 'ref', 'branch', 'basehead'])
/** Writes that make content, which the secondary limits count. */
const CONTENT = /\/(issues|comments|labels|statuses|reactions|assignees)(\/|$)/
const VERSIONS = new Set(['2022-11-28', '2026-03-10'])

/** Serves the routes: fault, authentication, permission, validation of the request, handling, validation of the answer; all logged. */
export function createApi(services: Services, routes: readonly Route[]): Hono {
  const hono = new Hono()
  const compiled = routes
    .map(route => {
      const [method = '', path = ''] = route.operation.split(' ')
      const pattern = path
        .replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
        .replaceAll(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>${GREEDY.has(name) ? '.+' : '[^/]+'})`)
      return { route, method, regex: new RegExp(`^${pattern}$`) }
    })
    // Fixed segments win over parameters, and the longer path over a greedy parameter.
    .sort((a, b) => specificity(b.route.operation) - specificity(a.route.operation))

  hono.all('*', async context => {
    const request = context.req
    const url = new URL(request.url)
    let path = url.pathname.replace(/\/$/, '') || '/'
    const byId = /^\/repositories\/(\d+)(\/.*)?$/.exec(path)
    if (byId) {
      const repository = services.repositories.byId(Number(byId[1]))
      if (repository) path = `/repos/${repository.fullName}${byId[2] ?? ''}`
    }
    const found = compiled
      .map(one => ({ one, match: one.method === request.method ? one.regex.exec(path) : null }))
      .find(({ match }) => match)
    const operation = found?.one.route.operation ?? `${request.method} ${path}`
    const params = Object.fromEntries(
      Object.entries(found?.match?.groups ?? {}).map(([name, value]) => [name, decode(value)]),
    )
    const query = Object.fromEntries(url.searchParams)
    const text = await request.text()
    let body: unknown
    let caller: Caller = { kind: 'anonymous' }
    let answer: { status: number; body?: unknown; headers: { [name: string]: string } }
    let drop = false
    let rates: { [name: string]: string } = {}
    try {
      if (!request.header('user-agent')) throw needsUserAgent()
      const version = request.header('x-github-api-version')
      if (version !== undefined && !VERSIONS.has(version)) throw unknownVersion()
      body = parse(text)
      caller = services.tokens.authenticate(request.header('authorization'))
      const fault = services.faults.take({
        route: operation,
        method: request.method,
        path,
        query,
        body,
        caller: describeCaller(caller),
      })
      if (fault?.delayMs !== undefined) await new Promise(resolve => setTimeout(resolve, fault.delayMs))
      if (fault?.drop === 'before') return cut(context)
      if (fault?.status !== undefined) {
        throw new ApiError(fault.status, fault.message ?? `programmed failure ${fault.status}`, {
          headers: { ...fault.headers },
        })
      }
      drop = fault?.drop === 'after'
      rates = services.limits.charge(caller, request.method !== 'GET' && CONTENT.test(path))
      if (!found) {
        // A path that GitHub has and the double lacks must not pass for a missing thing.
        services.violations.push({
          where: operation,
          part: 'operation',
          message: 'is not among the operations that the double imitates',
        })
        throw notFound()
      }
      const { route } = found.one
      const repository = permit(services, route, params, caller, url)
      const violations = services.validator.request(route.operation, params, query, body)
      services.violations.push(...violations)
      if (violations.some(v => v.part === 'request body')) {
        throw new ApiError(422, `Invalid request.\n\n${violations.map(v => v.message).join('\n')}`)
      }
      const given = (typeof body === 'object' && body !== null ? body : {}) as { [name: string]: unknown }
      const call: Call = {
        services,
        params,
        query,
        body: given,
        caller,
        get repository() {
          if (!repository) throw new Error(`${route.operation} names no repository`)
          return repository
        },
      }
      answer = paginate(route.handle(call), query, url, services, fault?.shuffle === true)
      services.violations.push(...services.validator.response(route.operation, answer.status, answer.body))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      answer = { status: error.status, body: error.body, headers: error.headers }
      services.violations.push(...services.validator.error(operation, error.body))
    }
    services.requests.add({
      route: operation,
      method: request.method,
      path,
      query,
      body,
      status: answer.status,
      caller: describeCaller(caller),
      at: services.world.now(),
    })
    services.world.changed()
    return drop ? cut(context) : respond(context, { ...answer, headers: { ...rates, ...answer.headers } })
  })
  return hono
}

function specificity(operation: string): number {
  const segments = operation.split('/')
  return segments.reduce(
    (sum, segment) => sum + (segment.startsWith('{') ? (GREEDY.has(segment.slice(1, -1)) ? 1 : 10) : 11),
    0,
  )
}

const decode = (value: string | undefined): string => {
  try {
    return decodeURIComponent(value ?? '')
  } catch {
    return value ?? ''
  }
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw problemsParsing()
  }
}

/** Finds the repository where the path names one, and refuses a caller that may not. */
function permit(
  services: Services,
  route: Route,
  params: { readonly [name: string]: string },
  caller: Caller,
  url: URL,
): Repository | null {
  const { access } = route
  if (access.kind === 'repository' || 'repo' in params) {
    const { owner = '', repo = '' } = params
    const repository = services.repositories.exact(owner, repo)
    if (!repository) {
      const former = services.repositories.former(owner, repo)
      if (!former) throw notFound()
      const rest = url.pathname.slice(`/repos/${owner}/${repo}`.length)
      throw moved(
        `${services.world.apiUrl}/repositories/${former.id}${rest}${url.search}`,
        route.operation.startsWith('GET'),
      )
    }
    if (access.kind === 'repository') checkRepository(caller, repository, access.access, services.teams)
    if (access.kind === 'app' && caller.kind !== 'app')
      throw caller.kind === 'anonymous' ? requiresAuthentication() : notByIntegration()
    return repository
  }
  if (access.kind === 'anyone') return null
  if (caller.kind === 'anonymous') throw access.kind === 'client' ? notFound() : requiresAuthentication()
  if (access.kind === 'app' && caller.kind !== 'app') throw new ApiError(401, 'A JSON web token could not be decoded')
  if (access.kind === 'client' && caller.kind !== 'client') throw badCredentials()
  if (access.kind === 'installation' && caller.kind !== 'installation') throw notByIntegration()
  if (access.kind === 'person' && caller.kind !== 'user') throw notByIntegration()
  if (access.kind === 'members') permitMembers(services, params['org'] ?? '', caller)
  return null
}

function permitMembers(services: Services, org: string, caller: Caller): void {
  const account = services.people.find(org)
  if (!account) throw notFound()
  if (caller.kind === 'installation') {
    if (caller.installation.account !== account) throw notFound()
    if (caller.permissions['members'] === undefined) throw notByIntegration()
  } else if (caller.kind === 'user') {
    if (!services.teams.memberOf(account, caller.user) && account !== caller.user) throw notFound()
  } else throw notByIntegration()
}

function paginate(
  answer: Answer,
  query: { readonly [name: string]: string },
  url: URL,
  services: Services,
  shuffle: boolean,
) {
  if (!('list' in answer)) return { ...answer, headers: {} }
  const size = Math.min(Math.max(Number(query['per_page'] ?? 30) || 30, 1), 100)
  const page = Math.max(Number(query['page'] ?? 1) || 1, 1)
  const items = shuffle
    ? [...answer.list]
        .map((item, i) => ({ item, key: ((i * 7919) % 104_729) % 97 }))
        .sort((a, b) => a.key - b.key)
        .map(({ item }) => item)
    : answer.list
  const last = Math.max(Math.ceil(items.length / size), 1)
  const link = (number: number, rel: string) => {
    const target = new URL(`${services.world.apiUrl}${url.pathname}${url.search}`)
    target.searchParams.set('page', String(number))
    return `<${target.href}>; rel="${rel}"`
  }
  const links = [
    ...(page > 1 ? [link(page - 1, 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
    ...(page > 1 ? [link(1, 'first')] : []),
  ]
  const slice = items.slice((page - 1) * size, page * size)
  return {
    status: 200,
    body: answer.wrap ? answer.wrap(slice, items.length) : slice,
    headers: links.length > 0 ? { link: links.join(', ') } : ({} as { [name: string]: string }),
  }
}

function respond(
  context: Context,
  answer: { status: number; body?: unknown; headers: { [name: string]: string } },
): Response {
  const text = answer.body === undefined ? null : JSON.stringify(answer.body)
  const etag = text === null || answer.status !== 200 ? null : `W/"${createHash('sha256').update(text).digest('hex')}"`
  const headers = {
    'x-github-request-id': 'DOUB:LE',
    ...(text !== null && { 'content-type': 'application/json; charset=utf-8' }),
    ...(etag && { etag }),
    ...answer.headers,
  }
  if (etag && context.req.header('if-none-match') === etag) return new Response(null, { status: 304, headers })
  return new Response(text, { status: answer.status, headers })
}

/** Closes the connection without an answer. */
export function cut(context: Context): Response {
  const { incoming } = context.env as { incoming?: { destroy(): void; socket?: { destroy(): void } } }
  incoming?.socket?.destroy()
  return new Response(null, { status: 500 })
}
