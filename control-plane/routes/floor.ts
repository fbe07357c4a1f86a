import { Hono } from 'hono'
import { z } from 'zod'
import { digestSchema, jsonSchema } from '../../ledger/payload.ts'
import type { Callers } from '../auth/callers.ts'
import { unwrap } from '../problem.ts'
import { honoPath, type Operation, repositoryPath } from './operation.ts'

const path = `${repositoryPath}/floor` as const

export const floorOperations: Operation[] = [
  {
    method: 'get',
    path,
    summary: 'The effective security floor of the repository and where it was read',
    caller: 'person',
    answer: z.object({ floor: jsonSchema, floorDigest: digestSchema.nullable(), sources: z.array(z.string()) }),
    refusals: [422, 503],
  },
]

/** GET .../floor */
export function floorRoutes(callers: Callers): Hono {
  const app = new Hono()
  app.get(honoPath(path), async c => {
    const { handle } = await callers.reader(c)
    return c.json(unwrap(await handle.floor()))
  })
  return app
}
