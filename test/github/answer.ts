import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { Answer, Services } from './call.ts'

/** One page of a list answer with its Link header; anything else as it is. */
export function paginate(
  answer: Answer,
  query: { readonly [name: string]: string },
  url: URL,
  services: Services,
  shuffle: boolean,
) {
  if (!('list' in answer)) return { ...answer, headers: {} }
  const size = Math.min(Math.max(Number(query['per_page'] ?? 30) || 30, 1), 100)
  const page = Math.max(Number(query['page'] ?? 1) || 1, 1)
  const items = shuffle
    ? [...answer.list]
        .map((item, i) => ({ item, key: ((i * 7919) % 104_729) % 97 }))
        .sort((a, b) => a.key - b.key)
        .map(({ item }) => item)
    : answer.list
  const last = Math.max(Math.ceil(items.length / size), 1)
  const link = (number: number, rel: string) => {
    const target = new URL(`${services.world.apiUrl}${url.pathname}${url.search}`)
    target.searchParams.set('page', String(number))
    return `<${target.href}>; rel="${rel}"`
  }
  const links = [
    ...(page > 1 ? [link(page - 1, 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
    ...(page > 1 ? [link(1, 'first')] : []),
  ]
  const slice = items.slice((page - 1) * size, page * size)
  return {
    status: 200,
    body: answer.wrap ? answer.wrap(slice, items.length) : slice,
    headers: links.length > 0 ? { link: links.join(', ') } : ({} as { [name: string]: string }),
  }
}

/** The HTTP answer, with an ETag and 304 where it is unchanged. */
export function respond(
  context: Context,
  answer: { status: number; body?: unknown; headers: { [name: string]: string } },
): Response {
  const text = answer.body === undefined ? null : JSON.stringify(answer.body)
  const etag = text === null || answer.status !== 200 ? null : `W/"${createHash('sha256').update(text).digest('hex')}"`
  const headers = {
    'x-github-request-id': 'DOUB:LE',
    ...(text !== null && { 'content-type': 'application/json; charset=utf-8' }),
    ...(etag && { etag }),
    ...answer.headers,
  }
  if (etag && context.req.header('if-none-match') === etag) return new Response(null, { status: 304, headers })
  return new Response(text, { status: answer.status, headers })
}

/** Closes the connection without an answer. */
export function cut(context: Context): Response {
  const { incoming } = context.env as { incoming?: { destroy(): void; socket?: { destroy(): void } } }
  incoming?.socket?.destroy()
  return new Response(null, { status: 500 })
}
