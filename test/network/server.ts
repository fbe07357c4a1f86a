import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

/** A real server on a free loopback port; `close` also ends what is still connected. */
export interface LocalServer {
  origin: string
  port: number
  server: Server
  close(): Promise<void>
}

export async function serve(
  listener: RequestListener,
  tls?: { key: string; cert: string },
  host = '127.0.0.1',
): Promise<LocalServer> {
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener)
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    port,
    server,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

export function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
}
