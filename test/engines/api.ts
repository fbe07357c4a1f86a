import { type IncomingHttpHeaders, request } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** One call of an engine's API as a test makes it to look from outside: both engines answer Docker's paths. */
export function callEngine(
  engine: { socket: string },
  method: string,
  path: string,
  body?: Readable | string,
  headers: { [name: string]: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: engine.socket, method, path, headers, agent: false }, answer => {
      text(answer).then(
        body => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
        (error: unknown) => reject(error),
      )
    })
    asked.on('error', reject)
    if (body === undefined || typeof body === 'string') asked.end(body)
    else body.pipe(asked)
  })
}

/** The same, where anything but a 2xx is an error of the test. */
export async function askEngine(...call: Parameters<typeof callEngine>): Promise<string> {
  const { status, body } = await callEngine(...call)
  if (status < 200 || status > 299) throw new Error(`${call[1]} ${call[2]}: ${status} ${body}`)
  return body
}
