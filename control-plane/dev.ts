import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { ConfigError, configNames, parseConfig } from './config.ts'

/**
 * `npm run dev`: the Worker entry on workerd, configured from the environment as the Node entry is (09). PORT absent = a free
 * one; AGENTCTL_DATA absent = nothing is kept. Prints one line with the URL when it is ready; SIGTERM ends it and workerd.
 */
async function main(): Promise<void> {
  // Neither statistics nor a look-up of this machine's place: it works offline.
  process.env['WRANGLER_SEND_METRICS'] = 'false'
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false'
  const port = Number(process.env['PORT'] ?? (await freePort()))
  const url = `http://127.0.0.1:${port}`
  const environment = { AGENTCTL_PUBLIC_URL: url, ...process.env }
  parseConfig(environment)
  const { unstable_startWorker: startWorker } = await import('wrangler')
  const data = process.env['AGENTCTL_DATA']
  if (data !== undefined) mkdirSync(data, { recursive: true, mode: 0o700 })
  const worker = await startWorker({
    config: join(import.meta.dirname, 'wrangler.jsonc'),
    bindings: bindingsOf(environment),
    dev: {
      server: { hostname: '127.0.0.1', port },
      inspector: false,
      watch: false,
      persist: data === undefined ? false : resolve(data),
      logLevel: 'error',
    },
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void worker.dispose().finally(() => process.exit(0)))
  }
  await worker.ready
  await answering(url)
  process.stdout.write(`agentctl control plane on workerd: ${url}\n`)
}

function bindingsOf(environment: { readonly [name: string]: string | undefined }) {
  const given = configNames.flatMap(name => {
    const value = environment[name]
    return value === undefined ? [] : [[name, { type: 'plain_text', value }] as const]
  })
  return Object.fromEntries(given)
}

async function answering(url: string): Promise<void> {
  const response = await fetch(`${url}/healthz`)
  if (!response.ok) throw new ConfigError(`the Worker answers ${response.status}: ${await response.text()}`)
}

async function freePort(): Promise<number> {
  const { promise, resolve: found } = Promise.withResolvers<number>()
  const server = createServer()
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    server.close(() => found(port))
  })
  return promise
}

try {
  await main()
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`agentctl control plane does not start: ${error.message}\n`)
  process.exitCode = 2
}
