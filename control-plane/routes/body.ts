import type { z } from 'zod'
import { problem } from '../problem.ts'

/**
 * The body of a request, refused before it is read where its declared length is over `limit` bytes, and while it is read
 * where it was not declared.
 */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > limit) throw tooLarge(limit)
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

/** A JSON body in the shape of `schema`. Throws ProblemError 413, 415, 400 (no JSON) or 422 (another shape). */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  limit: number,
): Promise<z.output<Schema>> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') throw problem(415, 'media_type', 'send application/json')
  const bytes = await readBytes(request, limit)
  const value = parseJson(bytes)
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.slice(0, 10).map(issue => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  throw problem(422, 'invalid', faults.join('; '))
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    throw problem(400, 'invalid_json', 'the body is not JSON in UTF-8')
  }
}

const tooLarge = (limit: number) => problem(413, 'too_large', `the body may have at most ${limit} bytes`)
