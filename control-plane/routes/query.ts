import type { Context } from 'hono'
import type { z } from 'zod'
import { problem } from '../problem.ts'
import type { Page } from '../repository/handle.ts'

/** The query of a request in the shape of `schema`. Throws ProblemError 422 that names every bad parameter. */
export function readQuery<Schema extends z.ZodObject>(c: Context, schema: Schema): z.output<Schema> {
  const parsed = schema.strict().safeParse(c.req.query())
  if (parsed.success) return parsed.data as z.output<Schema>
  const faults = parsed.error.issues.map(issue => `${issue.path.join('.') || 'query'}: ${issue.message}`)
  throw problem(422, 'invalid', faults.join('; '))
}

/** A list answer with the Link header of its next page. */
export function pageResponse(c: Context, publicUrl: string, page: Page<unknown>): Response {
  if (page.next !== null) {
    const url = new URL(c.req.url)
    url.searchParams.set('cursor', page.next)
    c.header('link', `<${publicUrl}${url.pathname}${url.search}>; rel="next"`)
  }
  return c.json(page)
}

/** A page of a list that is already at hand; the cursor is the position after its last item. */
export function slicePage<Item>(items: readonly Item[], cursor: string | undefined, limit: number): Page<Item> {
  const start = cursor === undefined ? 0 : position(cursor)
  const end = start + limit
  return { items: items.slice(start, end), next: end < items.length ? String(end) : null }
}

/** A cursor that is a number. Throws ProblemError 422 where it is none. */
export function position(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw problem(422, 'invalid', 'cursor: not one that this list gave')
}
