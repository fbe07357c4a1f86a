import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { z } from 'zod'
import { digestSchema } from '../../ledger/payload.ts'
import type { Callers } from '../auth/callers.ts'
import type { Config } from '../config.ts'
import { unwrap } from '../problem.ts'
import type { RepositoryHandle } from '../repository/handle.ts'
import { eventPollMs, eventStreamMs } from './limits.ts'
import { honoPath, type Operation, pageOf, pageQuery, repositoryPath } from './operation.ts'
import { pageResponse, position, readQuery } from './query.ts'

const eventsPath = `${repositoryPath}/runs/{run}/events` as const
const headPath = `${repositoryPath}/audit/head` as const
const exportPath = `${repositoryPath}/audit/export` as const
const ndjson = 'application/x-ndjson'

const chainQuery = z.object({ run: z.string().max(64).optional().describe("one run's chain; absent = the ledger's") })

const eventSchema = z.looseObject({
  v: z.literal(1),
  ledger: z.string(),
  chain: z.string(),
  seq: z.int(),
  at: z.string(),
  actor: z.string(),
  type: z.string(),
  subject: z.string(),
  dataDigest: digestSchema,
  previous: digestSchema,
  hash: digestSchema,
})
const headSchema = z.object({
  ledger: z.string(),
  chain: z.string(),
  seq: z.int(),
  head: digestSchema,
  signature: z.string().nullable(),
  publicKey: z.string().nullable(),
})

export const auditOperations: Operation[] = [
  {
    method: 'get',
    path: eventsPath,
    summary: "The run's audit events, as pages or, with Accept: text/event-stream, live",
    caller: 'person',
    query: pageQuery,
    answer: pageOf(eventSchema),
    refusals: [422],
  },
  {
    method: 'get',
    path: headPath,
    summary: 'Head of a chain, signed where a key is configured',
    caller: 'person',
    query: chainQuery,
    answer: headSchema,
    refusals: [422],
  },
  {
    method: 'get',
    path: exportPath,
    summary: "A run's chain with its checkpoints, or everything, one event a line",
    caller: 'person',
    query: chainQuery,
    answer: eventSchema,
    answerType: ndjson,
    refusals: [422],
  },
]

/** The audit chains: pages, live, heads, export. */
export function auditRoutes(config: Config, callers: Callers): Hono {
  const app = new Hono()

  app.get(honoPath(eventsPath), async c => {
    const { handle } = await callers.reader(c)
    const run = c.req.param('run')
    const { cursor, limit } = readQuery(c, pageQuery)
    const after = cursor === undefined ? 0 : position(cursor)
    if (c.req.header('accept')?.includes('text/event-stream')) return live(c, handle, run, after)
    const { items, next } = unwrap(await handle.events({ run, after, limit }))
    return pageResponse(c, config.publicUrl, { items, next: next === null ? null : String(next) })
  })

  app.get(honoPath(headPath), async c => {
    const { handle } = await callers.reader(c)
    return c.json(unwrap(await handle.head(readQuery(c, chainQuery).run ?? null)))
  })

  app.get(honoPath(exportPath), async c => {
    const { handle } = await callers.reader(c)
    const lines = unwrap(await handle.exportAudit(readQuery(c, chainQuery).run ?? null))
    return c.body(lines, 200, { 'content-type': ndjson })
  })
  return app
}

/** Events as they happen, until the run has ended or five minutes have passed; Last-Event-ID goes on where it broke off. */
async function live(c: Context, handle: RepositoryHandle, run: string, cursor: number): Promise<Response> {
  const resumed = c.req.header('last-event-id')
  let after = resumed === undefined ? cursor : position(resumed)
  unwrap(await handle.run(run))
  return streamSSE(c, async stream => {
    for (let polls = 0; polls < eventStreamMs / eventPollMs && !stream.aborted; polls++) {
      // Read before the events: what an ended run has written by then is all that it ever writes.
      const { endedAt } = unwrap(await handle.run(run))
      for (let more = true; more; ) {
        const { items, next } = unwrap(await handle.events({ run, after, limit: 100 }))
        for (const event of items) {
          after = event.seq
          await stream.writeSSE({ id: String(event.seq), event: event.type, data: JSON.stringify(event) })
        }
        more = next !== null
      }
      if (endedAt !== null) return
      await stream.sleep(eventPollMs)
    }
  })
}
