import { Hono } from 'hono'
import { z } from 'zod'
import { digestSchema, inlineLimitBytes, jsonSchema } from '../../ledger/payload.ts'
import { approvalRecordSchema, effectRecordSchema } from '../../ledger/remote-snapshot.ts'
import type { Callers } from '../auth/callers.ts'
import type { Dependencies } from '../dependencies.ts'
import { unwrap } from '../problem.ts'
import type { ApprovalView } from '../repository/handle.ts'
import { readJson } from './body.ts'
import { smallBodyLimitBytes } from './limits.ts'
import { honoPath, type Operation, pageOf, pageQuery, repositoryPath } from './operation.ts'
import { pageResponse, position, readQuery, slicePage } from './query.ts'

const pendingPath = '/v1/approvals'
const approvalsPath = `${repositoryPath}/approvals` as const
const approvalPath = `${approvalsPath}/{id}` as const
const resolutionPath = `${approvalPath}/resolution` as const
const reconciliationPath = `${repositoryPath}/effects/{id}/reconciliation` as const

/** An approval as the API shows it. */
export const approvalSchema = approvalRecordSchema.extend({
  bodyDigest: digestSchema
    .nullable()
    .describe("SHA-256 of the issue's body, line ends normalised: what a resolution is made on"),
})
const pendingSchema = approvalSchema.extend({
  repository: z.object({ id: z.int(), owner: z.string(), name: z.string() }),
})
const viaSchema = z.enum(['api', 'cli']).default('api')

const resolutionSchema = z.strictObject({
  outcome: z.enum(['approved', 'rejected']),
  reason: z.string().max(2000),
  bodyDigest: digestSchema.describe('of the issue that the decision was made on'),
  via: viaSchema.optional(),
})
const reconciliationSchema = z.strictObject({
  status: z.enum(['applied', 'not-applied', 'compensated']),
  reason: z.string().min(1).max(2000),
  evidence: jsonSchema.default(null),
  result: jsonSchema.default(null).describe('what the effect gave, where applied and known'),
})

export const approvalOperations: Operation[] = [
  {
    method: 'get',
    path: pendingPath,
    summary: 'Approvals that wait in repositories which the caller may read',
    caller: 'person',
    query: pageQuery,
    answer: pageOf(pendingSchema),
    refusals: [422],
  },
  {
    method: 'get',
    path: approvalsPath,
    summary: 'Approvals of the repository that wait for people',
    caller: 'person',
    query: pageQuery,
    answer: pageOf(approvalSchema),
    refusals: [422],
  },
  { method: 'get', path: approvalPath, summary: 'One approval', caller: 'person', answer: approvalSchema },
  {
    method: 'post',
    path: resolutionPath,
    summary: "Approves or rejects; the caller's eligibility is read from GitHub at this moment",
    caller: 'person',
    body: resolutionSchema,
    answer: approvalSchema,
    refusals: [403, 409, 413, 415, 422, 503],
  },
  {
    method: 'post',
    path: reconciliationPath,
    summary: 'Says what became of an uncertain effect; needs write permission',
    caller: 'person',
    body: reconciliationSchema,
    answer: effectRecordSchema,
    refusals: [403, 409, 413, 415, 422, 503],
  },
]

/** What waits for people, and their word on it. */
export function approvalRoutes(dependencies: Dependencies, callers: Callers): Hono {
  const app = new Hono()
  const { publicUrl } = dependencies.config

  app.get(pendingPath, async c => {
    const person = await callers.person(c, false)
    const { cursor, limit } = readQuery(c, pageQuery)
    const after = cursor === undefined ? 0 : position(cursor)
    return pageResponse(c, publicUrl, await pendingFor(dependencies, person, after, limit))
  })

  app.get(honoPath(approvalsPath), async c => {
    const { handle } = await callers.reader(c)
    const { cursor, limit } = readQuery(c, pageQuery)
    return pageResponse(c, publicUrl, slicePage(await handle.openApprovals(), cursor, limit))
  })

  app.get(honoPath(approvalPath), async c => {
    const { handle } = await callers.reader(c)
    return c.json(unwrap(await handle.approval(c.req.param('id'))))
  })

  app.post(honoPath(resolutionPath), async c => {
    const { handle, person } = await callers.changer(c)
    const { via = 'api', ...word } = await readJson(c.req.raw, resolutionSchema, smallBodyLimitBytes)
    return c.json(unwrap(await handle.resolve({ approval: c.req.param('id'), ...word, person, via })))
  })

  app.post(honoPath(reconciliationPath), async c => {
    const { handle, person } = await callers.changer(c)
    const word = await readJson(c.req.raw, reconciliationSchema, inlineLimitBytes)
    return c.json(unwrap(await handle.reconcile({ effect: c.req.param('id'), ...word, person })))
  })
  return app
}

/**
 * Approvals that wait where the person may read, repository by repository; the cursor is the last repository's id. A
 * repository's approvals are never split, so a page may be longer than its limit; a repository that cannot be asked now
 * is left out, never guessed.
 */
async function pendingFor(
  { directory, repositories }: Dependencies,
  person: { id: number; login: string },
  after: number,
  limit: number,
) {
  const items: (ApprovalView & { repository: object })[] = []
  let last = after
  for (;;) {
    const page = await directory.pending(last, 20)
    for (const repository of page) {
      last = repository.id
      const handle = repositories.get(repository.id)
      if (!(await handle.access(person, 'read', false)).ok) continue
      for (const approval of await handle.openApprovals()) items.push({ ...approval, repository })
      if (items.length >= limit) return { items, next: String(last) }
    }
    if (page.length === 0) return { items, next: null }
  }
}
