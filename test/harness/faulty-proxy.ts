import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { freePort } from './control-plane.ts'

/** What happens to a matching call instead of, or after, being passed on. */
export interface Trouble {
  /** `METHOD /path` with a piece of the body, where one matters. */
  route: RegExp
  body?: RegExp
  /**
   * Dropped before it is passed on; dropped after, so that the work is done and the caller cannot know; never answered; or
   * answered with a status.
   */
  how: 'drop before' | 'drop after' | 'hang' | { status: number; retryAfter?: number }
  /** How many matching calls it meets. Default 2. */
  times?: number
}

/** A loopback proxy before a control plane: its address is the control plane's for the Action. */
export interface FaultyProxy {
  url: string
  /** Where calls go to. */
  target(url: string): void
  add(trouble: Trouble): void
  clear(): void
  /** Troubles that have not been fully met. */
  pending(): Trouble[]
  /** Calls as `METHOD /path`, oldest first. */
  calls: string[]
  close(): Promise<void>
}

export async function startFaultyProxy(): Promise<FaultyProxy> {
  const port = await freePort()
  const calls: string[] = []
  let behind = ''
  let troubles: { trouble: Trouble; left: number }[] = []

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const route = `${request.method} ${request.url}`
    calls.push(route)
    const met = troubles.find(
      ({ trouble, left }) => left > 0 && trouble.route.test(route) && (trouble.body?.test(body.toString()) ?? true),
    )
    if (met !== undefined) met.left -= 1
    const how = met?.trouble.how
    if (how === 'drop before') return void request.socket.destroy()
    if (how === 'hang') return
    if (typeof how === 'object') {
      const headers = how.retryAfter === undefined ? {} : { 'retry-after': String(how.retryAfter) }
      return void response.writeHead(how.status, headers).end()
    }
    const { host: _, connection: __, ...headers } = request.headers
    const answer = await fetch(behind + request.url, {
      method: request.method ?? 'GET',
      headers: headers as { [name: string]: string },
      ...(body.length > 0 && { body }),
      redirect: 'manual',
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (how === 'drop after') return void request.socket.destroy()
    const { 'content-encoding': ___, 'content-length': ____, ...given } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, given).end(bytes)
  }

  const server = createServer((request, response) => {
    // Nothing listens behind: to the caller this is a connection that broke.
    serve(request, response).catch(() => request.socket.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${port}`,
    target: url => {
      behind = url
    },
    add: trouble => void troubles.push({ trouble, left: trouble.times ?? 2 }),
    clear: () => {
      troubles = []
    },
    pending: () => troubles.filter(({ left }) => left > 0).map(({ trouble }) => trouble),
    calls,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close').catch(() => undefined)
    },
  }
}
