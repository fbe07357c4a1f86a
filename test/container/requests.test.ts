import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'

const value = 'a-value-of-a-secret'
let room = ''
let server: Server
let asked: { url: string; body: string }[] = []

// Of an engine no more than the answer to a create, which it gives back with what it was asked.
beforeEach(async () => {
  room = mkdtempSync('/tmp/agentctl-requests-')
  asked = []
  server = createServer(async (request, answer) => {
    asked.push({ url: request.url ?? '', body: await text(request) })
    answer
      .writeHead(201, { 'content-type': 'application/json' })
      .end(JSON.stringify({ Id: 'a'.repeat(64), Env: value }))
  }).listen(path.join(room, 's'))
  await once(server, 'listening')
})
afterEach(() => {
  server.close()
  rmSync(room, { recursive: true, force: true })
})

it('no value of a secret is in the address of a request, nor printed where DEBUG asks for it', async () => {
  const script = path.join(room, 'create.ts')
  const source = path.join(import.meta.dirname, '../../runner/container')
  writeFileSync(
    script,
    `import { connectTo } from ${JSON.stringify(`${source}/client.ts`)}
import { dockerEngine } from ${JSON.stringify(`${source}/docker.ts`)}
const connection = await connectTo({ socketPath: ${JSON.stringify(path.join(room, 's'))} })
const engine = dockerEngine(connection, { isLocal: true })
const image = { reference: 'x', id: 'x', variables: [], path: null, volumes: [] }
const environment = { TOKEN: ${JSON.stringify(value)} }
const id = await engine.create({ image, command: 'x', args: [], source: '/', environment, stdin: false, memoryLimitBytes: 1, cpuLimitMillis: 1, pidsLimit: 1, labels: {}, cgroupParent: null })
console.log(id, process.env.DEBUG)
process.exit(0)
`,
  )
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, DEBUG: '*' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, complained] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(printed).toBe(`${'a'.repeat(64)} *\n`)
  expect(complained).not.toContain(value)
  expect(asked.map(({ url }) => url)).toEqual(['/containers/create'])
  expect(asked[0]?.body).toContain(value)
})
