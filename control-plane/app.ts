import { Hono } from 'hono'
import { routePath } from 'hono/route'
import { describeError } from '../policy/redact.ts'
import { callersOf } from './auth/callers.ts'
import type { Dependencies } from './dependencies.ts'
import { ProblemError, problemResponse } from './problem.ts'
import { approvalOperations, approvalRoutes } from './routes/approvals.ts'
import { attachOperations, attachRoutes } from './routes/attach.ts'
import { auditOperations, auditRoutes } from './routes/audit.ts'
import { blobOperations, blobRoutes } from './routes/blobs.ts'
import { commandOperations, commandRoutes } from './routes/commands.ts'
import { floorOperations, floorRoutes } from './routes/floor.ts'
import { healthOperations, healthRoutes } from './routes/health.ts'
import { openApi } from './routes/openapi.ts'
import { outboxOperations, outboxRoutes } from './routes/outbox.ts'
import { runOperations, runRoutes } from './routes/runs.ts'
import { securityHeaders } from './routes/security.ts'
import { webhookRoute } from './webhooks/index.ts'

/** Every operation that the app serves besides the webhook and its own description. */
export const operations = [
  ...attachOperations,
  ...commandOperations,
  ...blobOperations,
  ...runOperations,
  ...approvalOperations,
  ...auditOperations,
  ...outboxOperations,
  ...floorOperations,
  ...healthOperations,
]

/** The control plane as one app, the same under Node and workerd. */
export function createApp(dependencies: Dependencies): Hono {
  const { config, log, metrics } = dependencies
  const callers = callersOf(dependencies)
  const description = openApi(operations, config.publicUrl)
  const app = new Hono()

  app.use(securityHeaders(config.publicUrl))
  if (metrics !== null) {
    app.use(async function measure(c, next) {
      const start = performance.now()
      await next()
      metrics.observe(c.req.method, routePath(c, -1), c.res.status, (performance.now() - start) / 1000)
    })
  }

  // Hono gives `onError` nothing but Errors: whatever else is thrown becomes one here.
  app.use(async function thrown(_, next) {
    try {
      await next()
    } catch (fault) {
      throw fault instanceof Error ? fault : new Error(describeError(fault))
    }
  })

  app.route('/', healthRoutes(dependencies))
  app.route('/', webhookRoute(dependencies))
  app.route('/', attachRoutes(dependencies, callers))
  app.route('/', commandRoutes(callers))
  app.route('/', blobRoutes(callers))
  app.route('/', runRoutes(config, callers))
  app.route('/', approvalRoutes(dependencies, callers))
  app.route('/', auditRoutes(config, callers))
  app.route('/', outboxRoutes(callers))
  app.route('/', floorRoutes(callers))
  app.get('/v1/openapi.json', c => c.json(description))

  app.notFound(() =>
    problemResponse({ status: 404, code: 'not_found', message: 'there is no such address', retryAfter: null }),
  )
  app.onError((error, c) => {
    if (error instanceof ProblemError) return problemResponse(error.refusal)
    log.error('request.failed', {
      method: c.req.method,
      route: routePath(c, -1),
      error: String(error.name),
      message: describeError(error),
    })
    return problemResponse({
      status: 500,
      code: 'internal',
      message: 'a fault of the control plane; nothing was acknowledged: try again',
      retryAfter: 5,
    })
  })
  return app
}
