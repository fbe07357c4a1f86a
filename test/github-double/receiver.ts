import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verify } from '@octokit/webhooks-methods'

export interface Received {
  headers: IncomingHttpHeaders
  body: string
  /** Whether Octokit's own verification accepts the signature. */
  signed: boolean
}

export interface Receiver {
  url: string
  received: Received[]
  /** Answers the next deliveries with these statuses, then 202. */
  answers: number[]
  close(): Promise<void>
}

/** A webhook receiver that keeps what comes. */
export async function startReceiver(secret: string): Promise<Receiver> {
  const received: Received[] = []
  const answers: number[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      void verify(secret, body, String(request.headers['x-hub-signature-256'])).then(signed => {
        received.push({ headers: request.headers, body, signed })
        response.writeHead(answers.shift() ?? 202).end()
      })
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answers,
    close: () =>
      new Promise(done => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}
