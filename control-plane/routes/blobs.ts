import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { blobPartBytes, digestSchema } from '../../ledger/payload.ts'
import type { Callers } from '../auth/callers.ts'
import { problem, unwrap } from '../problem.ts'
import type { RepositoryHandle } from '../repository/handle.ts'
import { readBytes } from './body.ts'
import { honoPath, type Operation, repositoryPath } from './operation.ts'
import { readQuery } from './query.ts'

const blobPath = `${repositoryPath}/blobs/{sha256}/{part}` as const
const octets = 'application/octet-stream'

const placeSchema = z.object({ sha256: digestSchema, part: z.coerce.number().int().min(0).max(4095) })
const putQuery = z.object({ bytes: z.coerce.number().int().min(0).describe('size of the whole blob') })

export const blobOperations: Operation[] = [
  {
    method: 'put',
    path: blobPath,
    summary: 'Stores one part of a blob; 512 KiB each, the last may be shorter, again and again without harm',
    caller: 'lease',
    query: putQuery,
    bodyType: octets,
    answer: null,
    refusals: [409, 413, 422, 503, 507],
  },
  {
    method: 'get',
    path: blobPath,
    summary: 'One part of a blob',
    caller: 'lease or person',
    answer: z.string(),
    answerType: octets,
  },
]

/** Blobs by digest, in parts. */
export function blobRoutes(callers: Callers): Hono {
  const app = new Hono()

  app.put(honoPath(blobPath), async c => {
    const { handle, lease } = await callers.lease(c)
    const place = placeOf(c)
    const { bytes: totalBytes } = readQuery(c, putQuery)
    const bytes = await readBytes(c.req.raw, blobPartBytes)
    unwrap(await handle.putBlobPart({ lease, ...place, totalBytes, bytes }))
    return c.body(null, 204)
  })

  app.get(honoPath(blobPath), async c => {
    const { handle } = await leaseOrReader(callers, c)
    const { sha256, part } = placeOf(c)
    const bytes = unwrap(await handle.getBlobPart(sha256, part))
    return c.body(new Uint8Array(bytes), 200, {
      'content-type': octets,
      'content-disposition': 'attachment',
      'cache-control': 'private, no-store',
    })
  })
  return app
}

/** A GitHub user token never has dots, a lease token always has two. */
function leaseOrReader(callers: Callers, c: Context): Promise<{ handle: RepositoryHandle }> {
  return (c.req.header('authorization') ?? '').includes('.') ? callers.lease(c) : callers.reader(c)
}

function placeOf(c: Context): z.output<typeof placeSchema> {
  const parsed = placeSchema.safeParse(c.req.param())
  if (parsed.success) return parsed.data
  throw problem(422, 'invalid', 'a blob part is addressed by a SHA-256 in lower-case hex and a number from 0')
}
