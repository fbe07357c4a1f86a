import { Hono } from 'hono'
import { z } from 'zod'
import { jsonSchema } from '../../ledger/payload.ts'
import { effectRecordSchema, runRecordSchema } from '../../ledger/remote-snapshot.ts'
import { runStates } from '../../policy/states.ts'
import type { Callers } from '../auth/callers.ts'
import type { Config } from '../config.ts'
import { unwrap } from '../problem.ts'
import { approvalSchema } from './approvals.ts'
import { readJson } from './body.ts'
import { smallBodyLimitBytes } from './limits.ts'
import { honoPath, type Operation, pageOf, pageQuery, repositoryPath } from './operation.ts'
import { pageResponse, readQuery, slicePage } from './query.ts'

const runsPath = `${repositoryPath}/runs` as const
const runPath = `${runsPath}/{run}` as const

const runsQuery = pageQuery.extend({
  state: z.enum(runStates).optional(),
  workflow: z.string().max(256).optional().describe('name of the workflow document'),
  commit: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/)
    .optional()
    .describe('SHA of the commit'),
  actor: z.string().max(64).optional().describe('login of who started it'),
  since: z.iso.datetime().optional().describe('created at or after'),
})

const cancelSchema = z.strictObject({ reason: z.string().max(2000) })
const compensateSchema = z.strictObject({ reason: z.string().min(1).max(2000) })

export const runOperations: Operation[] = [
  {
    method: 'get',
    path: runsPath,
    summary: 'Runs of the repository, newest first',
    caller: 'person',
    query: runsQuery,
    answer: pageOf(runRecordSchema),
    refusals: [422],
  },
  { method: 'get', path: runPath, summary: 'One run', caller: 'person', answer: runRecordSchema },
  { method: 'get', path: `${runPath}/plan`, summary: 'Its plan', caller: 'person', answer: jsonSchema },
  {
    method: 'get',
    path: `${runPath}/effects`,
    summary: 'Its effects in the order in which they were asked for',
    caller: 'person',
    query: pageQuery,
    answer: pageOf(effectRecordSchema),
    refusals: [422],
  },
  {
    method: 'get',
    path: `${runPath}/approvals`,
    summary: 'Its approvals, resolved or not, oldest pause first',
    caller: 'person',
    query: pageQuery,
    answer: pageOf(approvalSchema),
    refusals: [422],
  },
  {
    method: 'post',
    path: `${runPath}/cancel`,
    summary: 'Asks the run to stop; needs write permission',
    caller: 'person',
    body: cancelSchema,
    answer: runRecordSchema,
    refusals: [403, 409, 413, 415, 422, 503],
  },
  {
    method: 'post',
    path: `${runPath}/compensate`,
    summary:
      'Undoes what succeeded in a run that failed, was denied or cancelled, by its job run again; needs write permission',
    caller: 'person',
    body: compensateSchema,
    answer: runRecordSchema,
    refusals: [403, 409, 413, 415, 422, 503],
  },
]

/** Reads of runs, cancel and compensate. */
export function runRoutes(config: Config, callers: Callers): Hono {
  const app = new Hono()
  const run = honoPath(runPath)

  app.get(honoPath(runsPath), async c => {
    const { handle } = await callers.reader(c)
    const query = readQuery(c, runsQuery)
    const { state = null, workflow = null, commit = null, actor = null, since = null, cursor = null, limit } = query
    const page = unwrap(await handle.runs({ state, workflow, commit, actor, since, cursor, limit }))
    return pageResponse(c, config.publicUrl, page)
  })

  app.get(run, async c => {
    const { handle } = await callers.reader(c)
    return c.json(unwrap(await handle.run(c.req.param('run'))))
  })

  app.get(`${run}/plan`, async c => {
    const { handle } = await callers.reader(c)
    return c.json(unwrap(await handle.plan(c.req.param('run'))))
  })

  app.get(`${run}/effects`, async c => {
    const { handle } = await callers.reader(c)
    const { cursor, limit } = readQuery(c, pageQuery)
    const effects = unwrap(await handle.effects(c.req.param('run')))
    return pageResponse(c, config.publicUrl, slicePage(effects, cursor, limit))
  })

  app.get(`${run}/approvals`, async c => {
    const { handle } = await callers.reader(c)
    const { cursor, limit } = readQuery(c, pageQuery)
    const approvals = unwrap(await handle.approvals(c.req.param('run')))
    return pageResponse(c, config.publicUrl, slicePage(approvals, cursor, limit))
  })

  app.post(`${run}/cancel`, async c => {
    const { handle, person } = await callers.changer(c)
    const { reason } = await readJson(c.req.raw, cancelSchema, smallBodyLimitBytes)
    return c.json(unwrap(await handle.cancel({ run: c.req.param('run'), reason, person, via: 'api' })))
  })
  app.post(`${run}/compensate`, async c => {
    const { handle, person } = await callers.changer(c)
    const { reason } = await readJson(c.req.raw, compensateSchema, smallBodyLimitBytes)
    return c.json(unwrap(await handle.compensate({ run: c.req.param('run'), reason, person })))
  })
  return app
}
