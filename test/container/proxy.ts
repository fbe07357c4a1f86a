import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestEngine } from '../engines/engines.ts'

/** Something between agentctl and an engine, as a remote engine has it, that ends a connection for output early. */
export interface Proxy {
  /** An environment that leads to the engine through it. */
  environment: { [name: string]: string }
  close(): void
}

/** Passes everything on; of each attached output only so many bytes of the engine's frames, then it is closed in order. */
export async function proxyOf({ kind, env, socket }: TestEngine, outputBytes: number): Promise<Proxy> {
  const directory = mkdtempSync(path.join(tmpdir(), 'agentctl-proxy-'))
  const place = path.join(directory, 's')
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, client => {
    const upstream = connect({ path: socket, allowHalfOpen: true })
    for (const one of [client, upstream]) {
      open.add(one)
      one.on('error', () => {})
      one.on('close', () => open.delete(one))
    }
    let isOutput = false
    client.on('data', chunk => {
      isOutput ||= /\/attach\?.*stdout=1/.test(chunk.toString('latin1'))
      upstream.write(chunk)
    })
    client.on('end', () => upstream.end())
    upstream.on('end', () => client.end())
    let seen = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      if (!isOutput) {
        client.write(chunk)
        return
      }
      const before = seen.length
      seen = Buffer.concat([seen, chunk])
      const head = seen.indexOf('\r\n\r\n')
      const end = head < 0 ? seen.length : head + 4 + outputBytes
      client.write(seen.subarray(before, Math.max(before, end)))
      if (head < 0 || seen.length < end) return
      client.end()
      upstream.destroy()
    })
  })
  server.listen(place)
  await once(server, 'listening')
  const name = kind === 'docker' ? 'DOCKER_HOST' : 'CONTAINER_HOST'
  return {
    environment: { ...env, [name]: `unix://${place}` },
    close() {
      server.close()
      for (const one of open) one.destroy()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
