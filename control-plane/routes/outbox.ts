import { Hono } from 'hono'
import { z } from 'zod'
import { jsonSchema } from '../../ledger/payload.ts'
import type { Callers } from '../auth/callers.ts'
import { unwrap } from '../problem.ts'
import { honoPath, type Operation, pageOf, repositoryPath } from './operation.ts'
import { readQuery } from './query.ts'

const outboxPath = `${repositoryPath}/outbox` as const
const retryPath = `${outboxPath}/{id}/retry` as const

const states = z.enum(['due', 'done', 'dead'])
const query = z.object({
  state: states.default('dead'),
  run: z.string().max(64).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50).describe('the newest so many'),
})
const rowSchema = z.object({
  id: z.string(),
  run: z.string().nullable(),
  kind: z.string(),
  payload: z.record(z.string(), jsonSchema),
  state: states,
  attempts: z.int(),
  dueAt: z.string(),
  lastError: z.string().nullable(),
})

export const outboxOperations: Operation[] = [
  {
    method: 'get',
    path: outboxPath,
    summary: 'What is owed to GitHub, or was given up on (dead letters, the default)',
    caller: 'person',
    query,
    answer: pageOf(rowSchema),
    refusals: [422],
  },
  {
    method: 'post',
    path: retryPath,
    summary: 'Puts a dead letter back in the queue; needs write permission',
    caller: 'person',
    answer: rowSchema,
    refusals: [403, 409, 503],
  },
]

/** The outbox, for whoever wonders why nothing happens. */
export function outboxRoutes(callers: Callers): Hono {
  const app = new Hono()

  app.get(honoPath(outboxPath), async c => {
    const { handle } = await callers.reader(c)
    const { state, run = null, limit } = readQuery(c, query)
    return c.json({ items: unwrap(await handle.outbox({ state, run, limit })), next: null })
  })

  app.post(honoPath(retryPath), async c => {
    const { handle, person } = await callers.changer(c)
    return c.json(unwrap(await handle.retryDeadLetter({ id: c.req.param('id'), person })))
  })
  return app
}
