import { Hono } from 'hono'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import type { Operation } from './operation.ts'

const status = z.object({ status: z.literal('ok') })

export const healthOperations: Operation[] = [
  { method: 'get', path: '/healthz', summary: 'The process answers', caller: 'anyone', answer: status },
  {
    method: 'get',
    path: '/readyz',
    summary: 'Its storage answers too',
    caller: 'anyone',
    answer: status,
    refusals: [503],
  },
  {
    method: 'get',
    path: '/metrics',
    summary: 'Counters in Prometheus text form (Node only)',
    caller: 'anyone',
    answer: z.string(),
    answerType: 'text/plain; version=0.0.4',
  },
]

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>agentctl control plane</title>
<h1>agentctl control plane</h1>
<p>It keeps the ledger of runs whose effects wait for people, and resumes them once people have decided.
<p>API: <a href="/v1/openapi.json">/v1/openapi.json</a>
</html>
`

/** What answers without a caller: liveness, readiness, counters, and one plain page that says what this is. */
export function healthRoutes({ directory, metrics }: Dependencies): Hono {
  const app = new Hono()
  app.get('/', c => c.html(page))
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', async c => {
    await directory.due(new Date(0).toISOString())
    return c.json({ status: 'ok' })
  })
  if (metrics !== null) {
    app.get('/metrics', c => c.body(metrics.render(), 200, { 'content-type': 'text/plain; version=0.0.4' }))
  }
  return app
}
