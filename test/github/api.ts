import { Hono } from 'hono'
import { cut, paginate, respond } from './answer.ts'
import type { Answer, Call, Route, Services } from './call.ts'
import { ApiError, needsUserAgent, notFound, problemsParsing, unknownVersion } from './errors.ts'
import type { Fault } from './faults.ts'
import { permit } from './permit.ts'
import { type Caller, describeCaller } from './tokens.ts'

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
      const writes = request.method !== 'GET'
      if (operation !== 'GET /rate_limit')
        rates = services.limits.charge(caller, {
          resource: 'core',
          endpoint: operation,
          writes,
          createsContent: writes && CONTENT.test(path),
        })
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
      answer = paginate(leaveOut(route.handle(call), fault ?? {}), query, url, services, fault?.shuffle === true)
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

function leaveOut(answer: Answer, { omit }: Fault): Answer {
  return omit === undefined || !('list' in answer)
    ? answer
    : { ...answer, list: answer.list.filter(item => !omit(item)) }
}
