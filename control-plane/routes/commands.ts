import { Hono } from 'hono'
import { runSnapshotSchema } from '../../ledger/remote-snapshot.ts'
import {
  commandsRequestSchema,
  longTermAnswerSchema,
  longTermQuerySchema,
  pauseIssueSchema,
  receiptSchema,
  registrationAnswerSchema,
  registrationRequestSchema,
} from '../../ledger/wire.ts'
import type { Callers } from '../auth/callers.ts'
import { unwrap } from '../problem.ts'
import { readJson } from './body.ts'
import { commandsLimitBytes, smallBodyLimitBytes } from './limits.ts'
import { honoPath, type Operation, repositoryPath } from './operation.ts'
import { readQuery } from './query.ts'

const runPath = `${repositoryPath}/runs/{run}` as const

export const commandOperations: Operation[] = [
  {
    method: 'post',
    path: `${runPath}/commands`,
    summary: 'Applies one batch of commands to the run that the lease token is bound to',
    caller: 'lease',
    body: commandsRequestSchema,
    answer: receiptSchema,
    refusals: [409, 413, 415, 422, 503, 507],
  },
  {
    method: 'get',
    path: `${runPath}/snapshot`,
    summary: 'The whole of the run, as resume needs it',
    caller: 'lease',
    answer: runSnapshotSchema,
    refusals: [409],
  },
  {
    method: 'get',
    path: `${runPath}/memory`,
    summary: 'A value of the long-term memory, or a search in it',
    caller: 'lease',
    query: longTermQuerySchema,
    answer: longTermAnswerSchema,
    refusals: [409, 422],
  },
  {
    method: 'get',
    path: `${runPath}/pause`,
    summary: 'The issue that the paused run has to open',
    caller: 'lease',
    answer: pauseIssueSchema,
    refusals: [409],
  },
  {
    method: 'post',
    path: `${runPath}/registration`,
    summary: 'Registers the opened issue after reading it back from GitHub',
    caller: 'lease',
    body: registrationRequestSchema,
    answer: registrationAnswerSchema,
    refusals: [409, 413, 415, 422, 503],
  },
]

/** What the Action does under its lease: append, read its run back, open and register the issue of a pause. */
export function commandRoutes(callers: Callers): Hono {
  const app = new Hono()
  const run = honoPath(runPath)

  app.post(`${run}/commands`, async c => {
    const { handle, lease } = await callers.lease(c)
    const { epoch, commands } = await readJson(c.req.raw, commandsRequestSchema, commandsLimitBytes)
    return c.json(unwrap(await handle.apply({ lease, batch: { run: lease.run, epoch, commands } })))
  })

  app.get(`${run}/snapshot`, async c => {
    const { handle, lease } = await callers.lease(c)
    return c.json(unwrap(await handle.snapshot({ lease })))
  })

  app.get(`${run}/memory`, async c => {
    const { handle, lease } = await callers.lease(c)
    const query = readQuery(c, longTermQuerySchema)
    return c.json(unwrap(await handle.longTerm({ lease, query })))
  })

  app.get(`${run}/pause`, async c => {
    const { handle, lease } = await callers.lease(c)
    return c.json(unwrap(await handle.pauseIssue({ lease })))
  })

  app.post(`${run}/registration`, async c => {
    const { handle, lease } = await callers.lease(c)
    const { pause, issue } = await readJson(c.req.raw, registrationRequestSchema, smallBodyLimitBytes)
    return c.json(unwrap(await handle.register({ lease, pause, issue })))
  })
  return app
}
