import http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { EndPoint } from './end-point.ts'
import { EngineFault } from './engine.ts'

/**
 * Attaches to a container that was not started yet, with no body at all: Podman takes what follows the request for the
 * container's stdin, and dockerode's own call sends one.
 */
export async function attach(at: EndPoint, id: string, to: 'output' | 'stdin'): Promise<Duplex> {
  const [output, input] = to === 'output' ? ['1', '0'] : ['0', '1']
  const query = new URLSearchParams({ stream: '1', stdout: output, stderr: output, stdin: input })
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const client = 'protocol' in at && at.protocol === 'https' ? https : http
  const request = client.request({
    ...('socketPath' in at ? at : { ...at, protocol: `${at.protocol}:` }),
    method: 'POST',
    path: `/containers/${id}/attach?${query}`,
    headers: { Connection: 'Upgrade', Upgrade: 'tcp', 'Content-Length': 0 },
    // A connection that ends as the container does.
    agent: false,
  })
  request.on('upgrade', (_answer, socket, head) => {
    if (head.length > 0) socket.unshift(head)
    resolve(socket)
  })
  request.on('response', answer => {
    let told = ''
    answer.on('data', (chunk: Buffer) => {
      told = `${told}${chunk.toString()}`.slice(0, 10_000)
    })
    answer.on('close', () => reject(new EngineFault(answer.statusCode ?? null, '', `attach: ${messageOf(told)}`)))
  })
  request.on('error', reject)
  request.end()
  return await promise
}

/** An engine's answer is JSON with a message, or that message alone. */
function messageOf(told: string): string {
  try {
    const answer: unknown = JSON.parse(told)
    const message = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'message') : null
    return typeof message === 'string' ? message : told.trim()
  } catch {
    return told.trim()
  }
}
