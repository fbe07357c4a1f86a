import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OwnCallError, ownFetch } from '../../runner/network/own.ts'
import { selfSigned } from './certificate.ts'
import { answer, bodyOf, type LocalServer, serve } from './server.ts'

const megabyte = 1_048_576
let target: LocalServer
let other: LocalServer
let otherCalls = 0

beforeAll(async () => {
  other = await serve((_, response) => {
    otherCalls++
    answer(response, 200, 'elsewhere')
  })
  target = await serve(async (request, response) => {
    const path = request.url ?? ''
    if (path === '/echo') {
      const body = (await bodyOf(request)).toString()
      return answer(response, 200, { method: request.method, headers: request.headers, body })
    }
    if (path.startsWith('/status/')) return answer(response, Number(path.slice(8)), { problem: true })
    if (path.startsWith('/redirect/'))
      return answer(response, Number(path.slice(10)), '', { location: `${other.origin}/?token=s3cret-value` })
    if (path === '/declared') return answer(response, 200, 'x'.repeat(megabyte), { 'content-length': `${megabyte}` })
    if (path === '/exactly') return answer(response, 200, 'x'.repeat(1000))
    if (path === '/endless') {
      response.writeHead(200)
      const more = () => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', more)
      }
      return more()
    }
    if (path === '/bomb') {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      return void response.end(gzipSync(Buffer.alloc(8 * megabyte)))
    }
    if (path === '/drip') {
      response.writeHead(200)
      response.write('x')
      return
    }
    if (path === '/cut') {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half')
      return void setImmediate(() => request.socket.destroy())
    }
    if (path === '/empty') return void response.writeHead(204).end()
  })
})
afterAll(async () => {
  await Promise.all([target.close(), other.close()])
})

const own = (options: Partial<Parameters<typeof ownFetch>[0]> = {}) =>
  ownFetch({ origins: [target.origin], environment: {}, timeoutMs: 5_000, ...options })

async function fault(call: Promise<Response>): Promise<OwnCallError> {
  const thrown = await call.then(
    response => new Error(`answered ${response.status}`),
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(OwnCallError)
  return thrown as OwnCallError
}

describe('what passes', () => {
  test('method, headers and body arrive; agentctl names itself', async () => {
    const response = await own()(`${target.origin}/echo`, { method: 'POST', headers: { 'x-a': '1' }, body: 'text' })
    const seen = (await response.json()) as { method: string; headers: Record<string, string>; body: string }
    expect(seen).toMatchObject({ method: 'POST', body: 'text', headers: { 'x-a': '1', 'user-agent': 'agentctl' } })
    expect(response.url).toBe(`${target.origin}/echo`)
  })

  test.each([200, 201, 304, 400, 404, 429, 500, 503])('status %i is an answer, not a fault', async status => {
    const response = await own()(`${target.origin}/status/${status}`)
    expect(response.status).toBe(status)
  })

  test('an answer without a body', async () => {
    const response = await own()(`${target.origin}/empty`)
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  test('a body of exactly the bound passes, one byte more does not', async () => {
    const exact = await own({ maxResponseBytes: 1000 })(`${target.origin}/exactly`)
    expect(await exact.text()).toHaveLength(1000)
    expect((await fault(own({ maxResponseBytes: 999 })(`${target.origin}/exactly`))).code).toBe('too_large')
  })
})

describe('what is refused, each by name', () => {
  test.each([301, 302, 303, 307, 308])(
    'redirect %i: nothing follows it, and its query is not repeated',
    async status => {
      const before = otherCalls
      const error = await fault(own({ origins: [target.origin, other.origin] })(`${target.origin}/redirect/${status}`))
      expect(error).toMatchObject({ code: 'redirect', retryable: false })
      expect(error.message).toContain(other.origin)
      expect(error.message).not.toContain('s3cret')
      expect(otherCalls).toBe(before)
    },
  )

  test('another origin, even on the same host, receives nothing', async () => {
    const before = otherCalls
    expect((await fault(own()(other.origin))).code).toBe('not_own')
    expect((await fault(own()(`https://127.0.0.1:${target.port}/`))).code).toBe('not_own')
    expect((await fault(own()('https://example.com/'))).code).toBe('not_own')
    expect(otherCalls).toBe(before)
  })

  test('a Request is not taken: its body could have been read before', async () => {
    expect((await fault(own()(new Request(target.origin)))).code).toBe('not_own')
  })

  test.each([
    ['http://example.com', 'insecure'],
    ['http://10.0.0.1', 'insecure'],
    ['http://localhost.example.com', 'insecure'],
    ['ftp://localhost', 'insecure'],
    ['https://user:word@example.com', 'insecure'],
    ['example.com', 'not_own'],
    ['', 'not_own'],
  ])('origin %j is refused when the fetch is made: %s', (origin, code) => {
    expect(() => own({ origins: [origin] })).toThrow(expect.objectContaining({ code }))
  })

  test.each(['http://localhost:1', 'http://127.9.9.9', 'http://[::1]:1', 'https://example.com/path'])(
    'origin %s is allowed',
    origin => {
      expect(() => own({ origins: [origin] })).not.toThrow()
    },
  )

  test('credentials in the URL of a call', async () => {
    const error = await fault(own()(`http://user:hunter22@127.0.0.1:${target.port}/`))
    expect(error.code).toBe('insecure')
    expect(error.message).not.toContain('hunter22')
  })

  test.each(['/declared', '/endless', '/bomb'])('%s: a body above the bound', async path => {
    const error = await fault(own({ maxResponseBytes: 100_000 })(`${target.origin}${path}`))
    expect(error).toMatchObject({ code: 'too_large', retryable: false })
  })

  test('an answer that never ends is cut at the time bound', async () => {
    const error = await fault(own({ timeoutMs: 200 })(`${target.origin}/drip`))
    expect(error).toMatchObject({ code: 'timeout', retryable: true })
  })

  test('a connection that breaks in the middle', async () => {
    const error = await fault(own()(`${target.origin}/cut`))
    expect(error).toMatchObject({ code: 'unreachable', retryable: true })
  })

  test('nobody listens', async () => {
    const gone = await serve(() => {})
    await gone.close()
    const error = await fault(own({ origins: [gone.origin] })(`${gone.origin}/?secret=hunter22`))
    expect(error).toMatchObject({ code: 'unreachable', retryable: true })
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.message).not.toContain('hunter22')
  })

  test('a port that fetch blocks is said to be one, not retried', async () => {
    const error = await fault(own({ origins: ['http://127.0.0.1:9'] })('http://127.0.0.1:9/'))
    expect(error).toMatchObject({ code: 'not_own', retryable: false })
    expect(error.message).toContain('port')
  })

  test('the caller stops', async () => {
    const controller = new AbortController()
    const call = own()(`${target.origin}/drip`, { signal: controller.signal })
    controller.abort()
    expect(await fault(call)).toMatchObject({ code: 'aborted', retryable: false })
  })
})

describe('proxy and certificates of the runner', () => {
  const name = 'agentctl.test'
  const certificate = selfSigned(name)
  const tunnels: string[] = []
  let secure: LocalServer
  let proxy: LocalServer
  let folder: string
  let authority: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentctl-own-'))
    authority = join(folder, 'authority.pem')
    await writeFile(authority, certificate.cert)
    secure = await serve((_, response) => answer(response, 200, 'secure'), certificate)
    proxy = await serve((_, response) => answer(response, 500, 'plain requests do not come here'))
    proxy.server.on('connect', (request, client) => {
      tunnels.push(request.url ?? '')
      if (request.headers['proxy-authorization'] === `Basic ${Buffer.from('a:wrong1').toString('base64')}`)
        return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      const upstream = connect(secure.port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n')
        upstream.pipe(client).pipe(upstream)
      })
      upstream.on('error', () => client.destroy())
      client.on('error', () => upstream.destroy())
    })
  })
  afterAll(async () => {
    await Promise.all([secure.close(), proxy.close(), rm(folder, { recursive: true })])
  })

  /** In a process of its own, since NODE_EXTRA_CA_CERTS is read when Node starts. */
  async function callIn(environment: Record<string, string>, url = `https://${name}:8443/`) {
    const script = new URL('call-once.ts', import.meta.url).pathname
    const { stdout } = await promisify(execFile)(process.execPath, [script, url], { env: environment })
    return JSON.parse(stdout) as { status?: number; text?: string; code?: string; message?: string }
  }

  test('https goes through https_proxy, and the runner’s extra authority is trusted', async () => {
    tunnels.length = 0
    const answered = await callIn({ https_proxy: proxy.origin, NODE_EXTRA_CA_CERTS: authority })
    expect(answered).toEqual({ status: 200, text: 'secure' })
    expect(tunnels).toEqual([`${name}:8443`])
  })

  test('an unknown authority is refused, NODE_TLS_REJECT_UNAUTHORIZED or not', async () => {
    for (const extra of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' }]) {
      const answered = await callIn({ HTTPS_PROXY: proxy.origin, ...extra })
      expect(answered.code).toBe('tls')
      expect(answered.message).toContain('NODE_EXTRA_CA_CERTS')
    }
  })

  test('the certificate must be for the name that was called', async () => {
    const environment = { https_proxy: proxy.origin, NODE_EXTRA_CA_CERTS: authority }
    expect((await callIn(environment, 'https://other.test:8443/')).code).toBe('tls')
  })

  test('no_proxy goes around the proxy', async () => {
    tunnels.length = 0
    const answered = await callIn({ https_proxy: proxy.origin, no_proxy: '.test' })
    expect(answered.code).toBe('unreachable')
    expect(tunnels).toEqual([])
  })

  test('a refusing proxy is named without its credentials', async () => {
    const url = `http://a:wrong1@127.0.0.1:${proxy.port}`
    const answered = await callIn({ https_proxy: url, NODE_EXTRA_CA_CERTS: authority })
    expect(answered.code).toBe('proxy')
    expect(answered.message).toContain('407')
    expect(answered.message).not.toContain('wrong1')
  })

  test('loopback never goes through a proxy', async () => {
    tunnels.length = 0
    const environment = { http_proxy: proxy.origin, https_proxy: proxy.origin }
    const response = await own({ environment })(`${target.origin}/empty`)
    expect(response.status).toBe(204)
    expect(tunnels).toEqual([])
  })

  test('a proxy that is no URL', async () => {
    const call = own({ origins: ['https://agentctl.test'], environment: { https_proxy: 'proxy:8080' } })
    expect((await fault(call('https://agentctl.test/'))).code).toBe('proxy')
  })
})
