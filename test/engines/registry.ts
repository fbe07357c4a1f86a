import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { plainEnvironment } from './docker.ts'
import { type Server, serve, whenItAnswers } from './processes.ts'

/** Debian's registry on loopback: Docker knows an image as NAME@sha256:DIGEST only once it was pushed or pulled. */
export async function startRegistry(directory: string): Promise<{ server: Server; host: string }> {
  const at = (name: string) => path.join(directory, 'registry', name)
  mkdirSync(at('data'), { recursive: true })
  const port = await freePort()
  writeFileSync(
    at('config.yml'),
    `version: 0.1
log: { level: warn }
storage: { filesystem: { rootdirectory: '${at('data')}' } }
http: { addr: '127.0.0.1:${port}' }
`,
  )
  const env = { ...plainEnvironment(directory), OTEL_TRACES_EXPORTER: 'none' }
  const server = serve('docker-registry', '/usr/bin/docker-registry', ['serve', at('config.yml')], env, at('log'))
  await whenItAnswers(server, { port }, '/v2/')
  return { server, host: `127.0.0.1:${port}` }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
