import { rmSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { parseConfig } from '../control-plane/config.ts'
import { nodeApp } from '../control-plane/node-app.ts'
import { signatureVerifier } from '../control-plane/webhooks/signature.ts'
import { systemClock, systemIds } from '../ledger/index.ts'

/**
 * One server of the webhook bench, alone in its process: `ours` is the control plane as `npm start` runs it, its inbox on
 * disk; `bare` a Hono route that verifies the same HMAC, parses the JSON and keeps nothing.
 */
const [kind = 'bare', data = '', secret = ''] = process.argv.slice(2)

function bare(): { app: Hono; close: () => Promise<void> } {
  const verify = signatureVerifier([secret])
  const app = new Hono()
  app.post('/webhooks/github', async c => {
    const body = new Uint8Array(await c.req.arrayBuffer())
    if (!(await verify(body, c.req.header('x-hub-signature-256') ?? ''))) return c.json({ outcome: 'refused' }, 401)
    JSON.parse(new TextDecoder().decode(body))
    return c.json({ outcome: 'new' }, 202)
  })
  return { app, close: async () => undefined }
}

function ours(): { app: Hono; close: () => Promise<void> } {
  const config = parseConfig({
    AGENTCTL_PUBLIC_URL: 'https://agentctl.example.dev',
    // Nothing listens there: none of the comments asks for anything of GitHub but our own account's name.
    GITHUB_API_URL: 'http://127.0.0.1:9',
    GITHUB_SERVER_URL: 'http://127.0.0.1:9',
    GITHUB_WEBHOOK_SECRETS: secret,
    GITHUB_TOKEN: 'ghp_bench',
    AGENTCTL_SESSION_KEY: 'ab'.repeat(32),
  })
  const log = { info: () => undefined, error: () => undefined }
  const world = { clock: systemClock, ids: systemIds, fetch: globalThis.fetch, log }
  return nodeApp({ ...config, port: 0, data }, world)
}

const { app, close } = kind === 'ours' ? ours() : bare()
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  process.send?.({ port })
})
process.once('message', () => {
  server.close(() => {
    void close().then(() => {
      if (kind === 'ours') rmSync(data, { recursive: true, force: true })
      process.disconnect()
    })
  })
  if ('closeAllConnections' in server) server.closeAllConnections()
})
