import { z } from 'zod'

/** One operation of the API as its OpenAPI description tells it; stands beside the handler that does it. */
export interface Operation {
  method: 'get' | 'post' | 'put'
  /** Path with parameters as `{name}`. */
  path: string
  summary: string
  caller: 'anyone' | 'github' | 'job' | 'lease' | 'person' | 'lease or person'
  query?: z.ZodObject
  body?: z.ZodType
  /** Content type of a body that is not JSON. */
  bodyType?: string
  answer: z.ZodType | null
  /** Content type of an answer that is not JSON. */
  answerType?: string
  /** Statuses of refusals besides 401, 404 and 429. */
  refusals?: number[]
}

/** `{items, next}` of any item. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.string().nullable().describe('cursor of the next page, null at the end') })

/** Query of every list. */
export const pageQuery = z.object({
  cursor: z.string().max(512).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50).describe('items a page'),
})

/** Hono's form of a path: `{name}` becomes `:name`. */
export type HonoPath<Path extends string> = Path extends `${infer Before}{${infer Name}}${infer After}`
  ? `${Before}:${Name}${HonoPath<After>}`
  : Path
export const honoPath = <Path extends string>(path: Path): HonoPath<Path> =>
  path.replaceAll(/\{(\w+)\}/g, ':$1') as HonoPath<Path>

export const repositoryPath = '/v1/repos/{owner}/{repo}'
