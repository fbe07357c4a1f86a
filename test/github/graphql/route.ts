import { execute, parse, validate } from 'graphql'
import { Hono } from 'hono'
import { cut } from '../answer.ts'
import type { Services } from '../call.ts'
import { ApiError, needsUserAgent, notByIntegration, requiresAuthentication } from '../errors.ts'
import { type Caller, describeCaller } from '../tokens.ts'
import { resolvers } from './resolve.ts'
import { graphqlSchema } from './schema.ts'

/** POST /graphql, validated by GitHub's own schema; a field that the double lacks is GitHub's "doesn't exist" error and a violation. */
export function graphqlRoute(services: Services): Hono {
  const hono = new Hono()
  hono.post('/graphql', async context => {
    let caller: Caller = { kind: 'anonymous' }
    let status = 200
    let answer: object
    let drop = false
    let rates: { [name: string]: string } = {}
    const body = (await context.req.json().catch(() => ({}))) as {
      query?: unknown
      variables?: { [name: string]: unknown }
    }
    try {
      if (!context.req.header('user-agent')) throw needsUserAgent()
      caller = services.tokens.authenticate(context.req.header('authorization'))
      const fault = services.faults.take({
        route: 'graphql',
        method: 'POST',
        path: '/graphql',
        query: {},
        body,
        caller: describeCaller(caller),
      })
      if (fault?.delayMs !== undefined) await new Promise(resolve => setTimeout(resolve, fault.delayMs))
      if (fault?.drop === 'before') return cut(context)
      if (fault?.status !== undefined)
        throw new ApiError(fault.status, fault.message ?? `programmed failure ${fault.status}`, {
          headers: { ...fault.headers },
        })
      drop = fault?.drop === 'after'
      if (caller.kind === 'anonymous') throw requiresAuthentication()
      if (caller.kind === 'app' || caller.kind === 'client') throw notByIntegration()
      const text = String(body.query ?? '')
      const writes = /^\s*mutation\b/.test(text)
      rates = services.limits.charge(caller, {
        resource: 'graphql',
        endpoint: 'graphql',
        writes,
        createsContent: writes,
      })
      answer = await answerTo(services, caller, text, body.variables ?? {})
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      rates = error.headers
      // A spent primary limit is told with status 200; a secondary one may be.
      const isPrimary = error.headers['x-ratelimit-remaining'] === '0' && error.headers['retry-after'] === undefined
      status = isPrimary ? 200 : error.status
      answer = isPrimary ? { errors: [{ type: 'RATE_LIMITED', message: error.body.message }] } : error.body
    }
    for (const [name, value] of Object.entries(rates)) context.header(name, value)
    services.requests.add({
      route: 'graphql',
      method: 'POST',
      path: '/graphql',
      query: {},
      body,
      status,
      caller: describeCaller(caller),
      at: services.world.now(),
    })
    services.world.changed()
    return drop ? cut(context) : context.json(answer, status as 200)
  })
  return hono
}

async function answerTo(
  services: Services,
  caller: Caller,
  query: string,
  variables: { [name: string]: unknown },
): Promise<object> {
  const schema = await graphqlSchema()
  let document: ReturnType<typeof parse>
  try {
    document = parse(query)
  } catch (error) {
    return { errors: [{ message: (error as Error).message }] }
  }
  const errors = validate(schema, document)
  if (errors.length > 0) {
    services.violations.push(
      ...errors.map(({ message }) => ({ where: 'graphql', part: 'request body' as const, message })),
    )
    return { errors: errors.map(({ message, locations }) => ({ message, locations })) }
  }
  const result = await execute({ schema, document, rootValue: resolvers(services, caller), variableValues: variables })
  if (!result.errors) return { data: result.data }
  // GitHub puts the error's type beside its message, not under `extensions`.
  return {
    data: result.data,
    errors: result.errors.map(error => ({
      type: error.extensions['type'],
      path: error.path,
      locations: error.locations,
      message: error.message,
    })),
  }
}
