import { Hono } from 'hono'
import { attachAnswerSchema, attachRequestSchema } from '../../ledger/wire.ts'
import type { Callers } from '../auth/callers.ts'
import type { Dependencies } from '../dependencies.ts'
import { unwrap } from '../problem.ts'
import { readJson } from './body.ts'
import { smallBodyLimitBytes } from './limits.ts'
import type { Operation } from './operation.ts'

export const attachOperations: Operation[] = [
  {
    method: 'post',
    path: '/v1/attach',
    summary: "Exchanges a job's OIDC token for its run and, where it may work, a lease",
    caller: 'job',
    body: attachRequestSchema,
    answer: attachAnswerSchema,
    refusals: [403, 409, 413, 415, 422, 503],
  },
]

/** POST /v1/attach. The repository's name is remembered once it has let the job in. */
export function attachRoutes(dependencies: Dependencies, callers: Callers): Hono {
  const app = new Hono()
  app.post('/v1/attach', async c => {
    const claims = await callers.job(c)
    const request = await readJson(c.req.raw, attachRequestSchema, smallBodyLimitBytes)
    const answer = unwrap(await dependencies.repositories.get(claims.repositoryId).attach({ claims, request }))
    const { id, owner, name } = answer.repository
    await dependencies.directory.remember({ id, owner, name })
    return c.json(answer)
  })
  return app
}
