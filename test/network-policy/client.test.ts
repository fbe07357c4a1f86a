import { once } from 'node:events'
import { connect, createServer as createTcp, type Socket, type Server as TcpServer } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkPolicy } from '../../policy/decision/index.ts'
import { GuardedError, guardedClient, networkFact } from '../../runner/network/index.ts'
import { bodyOf, type LocalServer, serve } from '../network/server.ts'
import { authority } from './authority.ts'
import { type DnsServer, dnsServer } from './dns-server.ts'
import { closeAll, get, networkPolicy, open, resolverAt, type Seen, secretsOf, trusting } from './opened.ts'

const maxBytes = 100_000
let dns: DnsServer
let web: LocalServer
/** Connections that the server accepted, so that a test sees whether anything was connected. */
let accepted = 0
const asked: string[] = []
const dropped: string[] = []

beforeAll(async () => {
  dns = await dnsServer()
  dns.answers.set('a.test', ['127.0.0.1'])
  web = await serve(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname
    asked.push(path)
    const part = (name: string) => path.startsWith(name)
    if (part('/echo')) {
      const body = (await bodyOf(request)).toString()
      response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
    } else if (part('/redirect/')) {
      response.writeHead(Number(path.slice(10)), { location: 'https://elsewhere.test/?token=hunter22' }).end()
    } else if (part('/bytes/')) response.writeHead(200).end('x'.repeat(Number(path.slice(7))))
    else if (part('/declared')) response.writeHead(200, { 'content-length': String(maxBytes + 1) }).write('x')
    else if (part('/endless')) endless(response)
    else if (part('/encoded/')) encoded(path.slice(9), response)
    else if (part('/headers')) response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
    else if (part('/slow')) {
      response.writeHead(200).write('first')
      response.on('close', () => dropped.push(path))
    } else if (part('/silent')) request.on('close', () => dropped.push(path))
    else if (part('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      emit = text => response.write(text)
      response.on('close', () => dropped.push(path))
    } else if (part('/cut')) {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setImmediate(() => request.socket.destroy())
    } else if (part('/reset')) request.socket.destroy()
    else if (part('/nothing')) response.writeHead(204).end()
    else response.end('plain')
  })
  web.server.on('connection', () => accepted++)
})
afterEach(closeAll)
afterAll(async () => {
  await web.close()
  await dns.close()
})

let emit: (text: string) => void = () => {}

function endless(response: import('node:http').ServerResponse): void {
  response.writeHead(200)
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(10_000)));
    response.once('drain', more)
  }
  more()
}

const compressors: { [name: string]: (plain: Buffer) => Buffer } = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
}

/** `/encoded/gzip/bomb`, `/encoded/br/small`, `/encoded/zstd/small`, `/encoded/gzip/broken`. */
function encoded(what: string, response: import('node:http').ServerResponse): void {
  const [name = '', kind] = what.split('/')
  const plain = kind === 'bomb' ? Buffer.alloc(50 * maxBytes) : Buffer.from('small body')
  const compressed = compressors[name]?.(plain) ?? plain
  response.writeHead(200, { 'content-encoding': name })
  response.end(kind === 'broken' ? Buffer.from('this is no compressed body') : compressed)
}

const loopback: Partial<NetworkPolicy> = { allowPrivate: true, maxResponseBytes: maxBytes }
const opened = (network: Partial<NetworkPolicy> = {}, hosts = ['*.test', '127.0.0.1']) =>
  open(networkPolicy(hosts, { ...loopback, ...network }), { resolver: resolverAt(dns.port) })
const url = (path: string, host = 'a.test') => `http://${host}:${web.port}${path}`

function faultOf(seen: Seen) {
  if ('fault' in seen) return seen.fault
  throw new Error(`answered ${seen.status}: ${seen.text.slice(0, 80)}`)
}

describe('what passes', () => {
  test('method, path, headers and body arrive as they are; the client names itself', async () => {
    const client = await opened()
    const headers = { Authorization: 'Bearer abc', 'X-A': '1' }
    const seen = await get(client, url('/echo?a=b%20c#fragment'), { method: 'POST', headers, body: 'text' })
    expect(JSON.parse('text' in seen ? seen.text : '')).toMatchObject({
      method: 'POST',
      url: '/echo?a=b%20c',
      body: 'text',
      headers: { host: `a.test:${web.port}`, authorization: 'Bearer abc', 'x-a': '1', 'user-agent': 'agentctl' },
    })
  })

  test('bytes as body, an empty answer, a status of failure', async () => {
    const client = await opened()
    const seen = await get(client, url('/echo'), { method: 'PUT', body: new TextEncoder().encode('ünï') })
    expect('text' in seen && JSON.parse(seen.text).body).toBe('ünï')
    expect(await get(client, url('/nothing'))).toEqual({ status: 204, text: '' })
    expect(await get(client, url('/encoded/gzip/small'), { method: 'HEAD' })).toEqual({ status: 200, text: '' })
  })

  test('connections are reused for the same origin and answer, and 20 requests at once are served', async () => {
    const client = await opened()
    const before = accepted
    for (let turn = 0; turn < 5; turn++) expect(await get(client, url('/'))).toEqual({ status: 200, text: 'plain' })
    expect(accepted - before).toBe(1)
    const many = await Promise.all(Array.from({ length: 20 }, () => get(client, url('/bytes/5000'))))
    expect(many.every(seen => 'text' in seen && seen.text.length === 5_000)).toBe(true)
  })

  test('a body is streamed as it comes', async () => {
    const client = await opened()
    const result = await client.request({ url: url('/events'), deadlineMs: 10_000 })
    if (!result.ok) throw new Error(result.fault.message)
    const parts: string[] = []
    for await (const part of result.response.body) {
      parts.push(Buffer.from(part).toString())
      if (parts.length === 3) break
      emit(`data: ${parts.length + 1}\n\n`)
    }
    expect(parts).toEqual(['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n'])
    await until(() => dropped.includes('/events'))
  })
})

/** Waits for what a server will see soon. */
async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 5_000; !isSo(); ) {
    if (Date.now() > end) throw new Error('it did not happen within 5 s')
    await new Promise(resolve => setImmediate(resolve))
  }
}

describe('refused before anything is connected', () => {
  test.each([
    ['https://user:hunter22@a.test/', 'userinfo'],
    ['a.test/hunter22', 'malformed_url'],
    ['https://%2A.test/hunter22', 'malformed_host'],
    ['ftp://a.test/hunter22', 'unknown_scheme'],
    ['http+unix://%2Frun%2Fdocker.sock/hunter22', 'unknown_scheme'],
    ['http://b.example/?hunter22', 'networkAllowlist'],
    ['http://test/hunter22', 'networkAllowlist'],
    ['http://a.test.evil/hunter22', 'networkAllowlist'],
  ])('%s by %s', async (asked, rule) => {
    const before = accepted
    const fault = faultOf(await get(await opened(), asked))
    expect(fault).toMatchObject({ code: 'refused', rule, exitCode: 3, dispatched: false })
    expect(fault.message).toMatch(new RegExp(`^${rule.replaceAll('.', '\\.')} refuses .+: .+; .+`))
    expect(fault.message).not.toContain('hunter22')
    expect(accepted).toBe(before)
  })

  test.each([
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '127.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::1]',
    '[64:ff9b::7f00:1]',
    '0.0.0.0',
    '[::]',
    'localhost',
  ])('%s without allowPrivate, though a rule names it', async host => {
    const before = accepted
    const spelled = host === '127.0.0.1.' || host.startsWith('%') ? '127.0.0.1' : host
    const client = await open(networkPolicy([spelled]), {})
    expect(faultOf(await get(client, url('/', host)))).toMatchObject({ rule: 'network.allowPrivate', exitCode: 3 })
    expect(accepted).toBe(before)
  })

  test.each([
    [['93.184.216.34', '127.0.0.1']],
    [['127.0.0.1', '93.184.216.34']],
    [['93.184.216.34', '::ffff:127.0.0.1']],
    [['2606:4700::1', 'fd00::1']],
    [['127.0.0.1']],
  ])('a name that resolves to %j', async answer => {
    dns.answers.set('mixed.test', answer)
    const before = accepted
    const fault = faultOf(await get(await opened({ allowPrivate: false }), url('/', 'mixed.test')))
    expect(fault).toMatchObject({ code: 'refused', rule: 'network.allowPrivate', exitCode: 3 })
    expect(accepted).toBe(before)
  })

  test('scheme and port', async () => {
    const scheme = faultOf(await get(await opened({ allowedSchemes: ['https'] }), url('/')))
    expect(scheme).toMatchObject({ rule: 'network.allowedSchemes', exitCode: 3 })
    const port = faultOf(await get(await opened({ allowedPorts: [443] }), url('/')))
    expect(port).toMatchObject({ rule: 'network.allowedPorts', exitCode: 3 })
    expect(await get(await opened({ allowedPorts: [web.port] }), url('/'))).toEqual({ status: 200, text: 'plain' })
  })

  test.each([
    [{ headers: { Host: 'inner.test' } }, 'request_header', '`host`'],
    [{ headers: { 'proxy-authorization': 'hunter22' } }, 'request_header', '`proxy-authorization`'],
    [{ headers: { 'Transfer-Encoding': 'chunked' } }, 'request_header', '`transfer-encoding`'],
    [{ headers: { upgrade: 'websocket' } }, 'request_header', '`upgrade`'],
    [{ headers: { 'x-a': 'hunter22\r\nHost: inner.test' } }, 'request_header', '`x-a`'],
    [{ headers: { 'x-a': 'hunter22\0' } }, 'request_header', '`x-a`'],
    [{ headers: { 'x a': 'hunter22' } }, 'request_header', 'name'],
    [{ headers: { A: '1', a: 'hunter22' } }, 'request_header', '`a`'],
    [{ method: 'CONNECT' }, 'request_method', 'method'],
    [{ method: 'GET / HTTP/1.1\r\nX: y' }, 'request_method', 'method'],
    [{ deadlineMs: 0 }, 'request_deadline', 'milliseconds'],
    [{ deadlineMs: Number.NaN }, 'request_deadline', 'milliseconds'],
    [{ deadlineMs: 2 ** 31 }, 'request_deadline', 'milliseconds'],
  ])('%j', async (more, rule, named) => {
    const before = accepted
    const fault = faultOf(await get(await opened(), url('/echo'), more))
    expect(fault).toMatchObject({ code: 'refused', rule, exitCode: 3, dispatched: false })
    expect(fault.message).toContain(named)
    expect(fault.message).not.toContain('hunter22')
    expect(accepted).toBe(before)
  })
})

describe('names and time', () => {
  test.each([
    ['gone.test', 'nxdomain', 'dns_not_found'],
    ['broken.test', 'broken', 'dns_failed'],
    ['silent.test', 'silent', 'dns_timeout'],
  ] as const)('%s is a DNS failure, exit 6', async (name, answer, rule) => {
    dns.answers.set(name, answer)
    const fault = faultOf(await get(await opened({ connectTimeoutSeconds: 1 }), url('/', name)))
    expect(fault).toMatchObject({ code: 'dns', rule, exitCode: 6, dispatched: false })
    expect(fault.message).toContain(name)
  })

  test('a server that never finishes the handshake ends at connectTimeoutSeconds', async () => {
    const silent = await listen(() => {})
    const start = performance.now()
    const client = await opened({ connectTimeoutSeconds: 1 })
    const fault = faultOf(await get(client, `https://a.test:${silent.port}/`))
    expect(fault).toMatchObject({ code: 'connect', rule: 'ETIMEDOUT', exitCode: 6, dispatched: false })
    expect(performance.now() - start).toBeGreaterThan(950)
    expect(performance.now() - start).toBeLessThan(4_000)
    await until(() => silent.open.size === 0)
    await silent.close()
  })

  test('the deadline ends a look-up, a connection, a silent server and a slow body', async () => {
    const silent = await listen(() => {})
    dns.answers.set('silent.test', 'silent')
    const client = await opened({ connectTimeoutSeconds: 60 })
    const urls = [url('/', 'silent.test'), `https://a.test:${silent.port}/`, url('/silent'), url('/slow')]
    const faults = await Promise.all(urls.map(async one => faultOf(await get(client, one, { deadlineMs: 400 }))))
    expect(faults.map(({ code, exitCode }) => [code, exitCode])).toEqual(urls.map(() => ['deadline', 6]))
    expect(faults.map(({ dispatched }) => dispatched)).toEqual([false, false, true, true])
    await until(() => silent.open.size === 0 && dropped.includes('/silent') && dropped.includes('/slow'))
    await silent.close()
  })

  test('the caller cancels at each of these points, and nothing stays connected', async () => {
    const silent = await listen(() => {})
    dns.answers.set('silent.test', 'silent')
    const client = await opened({ connectTimeoutSeconds: 60 })
    const urls = [url('/', 'silent.test'), `https://a.test:${silent.port}/`, url('/silent/2'), url('/slow/2')]
    const cancelling = new AbortController()
    const waiting = urls.map(one => get(client, one, { signal: cancelling.signal }))
    await until(() => silent.open.size === 1)
    cancelling.abort(new Error('hunter22'))
    const faults = (await Promise.all(waiting)).map(faultOf)
    for (const fault of faults) {
      expect(fault).toMatchObject({ code: 'cancelled', exitCode: 130 })
      expect(fault.message).not.toContain('hunter22')
    }
    await until(() => silent.open.size === 0)
    // What was cancelled while it connected does not poison who comes next.
    expect(await get(client, url('/'))).toEqual({ status: 200, text: 'plain' })
    expect(faultOf(await get(client, url('/'), { signal: cancelling.signal }))).toMatchObject({ code: 'cancelled' })
    await silent.close()
  })

  test('what was cancelled while it waited for a connection is not sent over it later', async () => {
    const root = authority('test root')
    const sent: string[] = []
    const secure = await serve(
      (request, response) => {
        sent.push(request.url ?? '')
        response.end('served')
      },
      root.issue(['a.test']),
    )
    const waiting: Socket[] = []
    const gate = await listen(socket => waiting.push(socket.pause()))
    const [policy, secrets] = trusting(networkPolicy(['*.test'], loopback), root.pem)
    const client = await open(policy, { resolver: resolverAt(dns.port), ...secrets })
    const cancelling = new AbortController()
    const at = (path: string) => `https://a.test:${gate.port}${path}`
    const cancelled = get(client, at('/cancelled'), { method: 'POST', signal: cancelling.signal })
    const kept = get(client, at('/kept'), { method: 'POST' })
    await until(() => waiting.length === 2)
    cancelling.abort()
    expect(faultOf(await cancelled)).toMatchObject({ code: 'cancelled', dispatched: false })
    for (const socket of waiting) socket.pipe(connect(secure.port, '127.0.0.1')).pipe(socket)
    expect(await kept).toEqual({ status: 200, text: 'served' })
    await closeAll()
    await until(() => gate.open.size === 0)
    expect(sent).toEqual(['/kept'])
    await Promise.all([gate.close(), secure.close()])
  })

  test('the first address refuses, the second answers', async () => {
    dns.answers.set('two.test', ['127.0.0.1', '127.0.0.9'])
    const second = await serve((_, response) => void response.end('second'), undefined, '127.0.0.9')
    expect(await get(await opened(), `http://two.test:${second.port}/`)).toEqual({ status: 200, text: 'second' })
    await second.close()
  })

  test('a closed port is a fault of the connection', async () => {
    const closed = await listen(() => {})
    await closed.close()
    const fault = faultOf(await get(await opened(), `http://a.test:${closed.port}/`))
    expect(fault).toMatchObject({ code: 'connect', rule: 'ECONNREFUSED', exitCode: 6, dispatched: false })
  })
})

async function listen(onSocket: (socket: Socket) => void, host = '127.0.0.1') {
  const open = new Set<Socket>()
  const server: TcpServer = createTcp(socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => {})
    // Bytes that nobody reads would hide the end of the connection.
    socket.resume()
    onSocket(socket)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = async () => {
    for (const socket of open) socket.destroy()
    await new Promise(done => server.close(done))
  }
  return { open, port, close }
}

describe('what a server may answer', () => {
  test.each([301, 302, 303, 307, 308])('%i is not followed', async status => {
    const before = accepted
    const fault = faultOf(await get(await opened(), url(`/redirect/${status}`)))
    expect(fault).toMatchObject({ code: 'redirect', rule: 'no_redirects', exitCode: 3, dispatched: true })
    expect(fault.message).toContain('https://elsewhere.test')
    expect(fault.message).not.toContain('hunter22')
    expect(accepted - before).toBe(1)
  })

  test('exactly maxResponseBytes passes, one more does not', async () => {
    const client = await opened()
    const whole = await get(client, url(`/bytes/${maxBytes}`))
    expect('text' in whole && whole.text.length).toBe(maxBytes)
    const fault = faultOf(await get(client, url(`/bytes/${maxBytes + 1}`)))
    expect(fault).toMatchObject({ code: 'too_large', rule: 'network.maxResponseBytes', exitCode: 6, dispatched: true })
  })

  test.each(['/declared', '/endless', '/encoded/gzip/bomb', '/encoded/br/bomb', '/encoded/deflate/bomb'])(
    '%s is too large',
    async path => {
      const fault = faultOf(await get(await opened(), url(path)))
      expect(fault).toMatchObject({ code: 'too_large', rule: 'network.maxResponseBytes' })
      expect(fault.message).toContain(`${maxBytes} bytes`)
    },
  )

  test('a stream is bounded like a whole body', async () => {
    const client = await opened()
    const result = await client.request({ url: url('/endless'), deadlineMs: 10_000 })
    if (!result.ok) throw new Error(result.fault.message)
    let bytes = 0
    const reading = (async () => {
      for await (const part of result.response.body) bytes += part.byteLength
    })()
    await expect(reading).rejects.toBeInstanceOf(GuardedError)
    expect(bytes).toBeLessThanOrEqual(maxBytes)
  })

  test.each(['gzip', 'deflate', 'br'])('%s is decoded', async name => {
    expect(await get(await opened(), url(`/encoded/${name}/small`))).toEqual({ status: 200, text: 'small body' })
  })

  test.each([
    ['/encoded/zstd/small', 'content_encoding'],
    ['/encoded/gzip, gzip/small', 'content_encoding'],
    ['/encoded/gzip/broken', 'Z_DATA_ERROR'],
  ])('%s is a fault of the protocol', async (path, rule) => {
    const fault = faultOf(await get(await opened(), url(path.replaceAll(' ', '%20'))))
    expect(fault).toMatchObject({ code: 'protocol', exitCode: 6, dispatched: true })
    expect(path.includes(',') ? 'content_encoding' : fault.rule).toBe(rule)
  })

  test('headers beyond 16 KiB', async () => {
    const fault = faultOf(await get(await opened(), url('/headers')))
    expect(fault).toMatchObject({ code: 'too_large', rule: 'response_headers', dispatched: true })
  })

  test.each([
    ['/cut', 'broken'],
    ['/reset', 'broken'],
  ])('%s leaves it open whether something happened', async (path, code) => {
    const before = accepted
    const fault = faultOf(await get(await opened(), url(path)))
    expect(fault).toMatchObject({ code, exitCode: 6, dispatched: true })
    // Sent once: what may have happened is never repeated.
    expect(accepted - before).toBe(1)
  })

  test.each([
    ['no HTTP at all', 'SSH-2.0-server\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd'],
    ['an upgrade nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ])('%s is no success', async (_, bytes) => {
    const odd = await listen(socket => socket.once('data', () => socket.write(bytes)))
    const fault = faultOf(await get(await opened(), `http://a.test:${odd.port}/`, { deadlineMs: 3_000 }))
    expect(['protocol', 'broken']).toContain(fault.code)
    expect(fault.dispatched).toBe(true)
    await odd.close()
  })

  test('what a message says passes the redactor', async () => {
    const policy = networkPolicy(['secret-host.test'], loopback)
    dns.answers.set('secret-host.test', 'nxdomain')
    const client = await open(policy, { resolver: resolverAt(dns.port), secrets: secretsOf({}, ['secret-host']) })
    const fault = faultOf(await get(client, url('/', 'secret-host.test')))
    expect(fault.message).not.toContain('secret-host')
  })
})

describe('check and use are the same answer', () => {
  test('the client connects to the addresses of the fact, whatever DNS says later', async () => {
    const [first, second] = await Promise.all(
      ['127.0.0.2', '127.0.0.3'].map(host => serve((_, response) => void response.end(host), undefined, host)),
    )
    if (first === undefined || second === undefined) throw new Error('no servers')
    await second.close()
    const other = await serveAt('127.0.0.3', first.port)
    dns.answers.set('rebind.test', [['127.0.0.2'], ['127.0.0.3']])
    const policy = networkPolicy(['*.test'], loopback)
    const resolver = resolverAt(dns.port)
    const at = `http://rebind.test:${first.port}/`
    const fact = await networkFact(at, policy, { resolver, environment: {} })
    expect(fact).toMatchObject({ addresses: ['127.0.0.2'] })
    const asked = dns.asked.length
    const client = await open(policy, { resolver })
    for (let turn = 0; turn < 3; turn++)
      expect(await get(client, at, { fact })).toEqual({ status: 200, text: '127.0.0.2' })
    expect(dns.asked).toHaveLength(asked)
    expect(other.connections()).toBe(0)
    // Without the fact the host is looked up anew, and the connection to the former answer is not used for it.
    expect(await get(client, at)).toEqual({ status: 200, text: '127.0.0.3' })
    await Promise.all([first.close(), other.close()])
  })

  test('a fact of another origin, of another policy or without an answer is refused', async () => {
    const client = await opened()
    const resolver = resolverAt(dns.port)
    const lenient = networkPolicy(['*.test', 'b.example'], loopback)
    const other = await networkFact(url('/'), lenient, { resolver, environment: {} })
    for (const asked of [`http://a.test:${web.port + 1}/`, `https://a.test:${web.port}/`, url('/', 'b.test')])
      expect(faultOf(await get(client, asked, { fact: other }))).toMatchObject({
        code: 'refused',
        rule: 'pinned_target',
      })
    const strict = await opened({ allowPrivate: false })
    expect(faultOf(await get(strict, url('/'), { fact: other }))).toMatchObject({ rule: 'network.allowPrivate' })
    const refused = await networkFact(url('/', 'c.example'), lenient, { resolver, environment: {} })
    expect(faultOf(await get(client, url('/', 'c.example'), { fact: refused }))).toMatchObject({
      rule: 'networkAllowlist',
    })
    const unknown = { known: false, cause: 'ENOENT', detail: 'it is so' } as const
    expect(faultOf(await get(client, url('/'), { fact: unknown }))).toMatchObject({ code: 'refused', rule: 'ENOENT' })
  })

  test('a policy that is changed afterwards changes nothing of a client', async () => {
    const policy = networkPolicy(['a.test'], loopback)
    const client = await open(policy, { resolver: resolverAt(dns.port) })
    policy.networkAllowlist.push('b.test')
    policy.network.allowedPorts = []
    expect(await get(client, url('/'))).toEqual({ status: 200, text: 'plain' })
    expect(faultOf(await get(client, url('/', 'b.test')))).toMatchObject({ rule: 'networkAllowlist' })
  })

  test('close ends what runs, and what only waits for its look-up is never sent', async () => {
    const client = await opened()
    const slow = get(client, url('/silent/3'))
    await until(() => asked.includes('/silent/3'))
    const waiting = get(client, url('/silent/4'))
    await client.close()
    expect(faultOf(await slow)).toMatchObject({ code: 'broken', exitCode: 6, dispatched: true })
    expect(faultOf(await waiting)).toMatchObject({ rule: 'client_closed', exitCode: 6, dispatched: false })
    await until(() => dropped.includes('/silent/3'))
    expect(asked).not.toContain('/silent/4')
  })

  test('a response that nobody reads ends at the deadline and harms nobody', async () => {
    const client = await opened()
    const result = await client.request({ url: url('/slow/4'), deadlineMs: 300 })
    await until(() => dropped.includes('/slow/4'))
    if (!result.ok) throw new Error(result.fault.message)
    expect(await result.response.read()).toMatchObject({ ok: false, fault: { code: 'deadline', dispatched: true } })
  })
})

async function serveAt(host: string, port: number) {
  let connections = 0
  const { createServer } = await import('node:http')
  const server = createServer((_, response) => void response.end(host))
  server.on('connection', () => connections++)
  server.listen(port, host)
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise(done => server.close(done))
  }
  return { close, connections: () => connections }
}

describe('TLS', () => {
  const root = authority('test root')
  const evil = authority('evil root')
  const hello: Parameters<typeof serve>[0] = (_, response) => void response.end('secure')

  async function secureGet(tls: { key: string; cert: string }, host = 'a.test', pem = root.pem): Promise<Seen> {
    const server = await serve(hello, tls)
    const [policy, secrets] = trusting(networkPolicy(['*.test', '127.0.0.1'], loopback), pem)
    const client = await open(policy, { resolver: resolverAt(dns.port), ...secrets })
    try {
      return await get(client, `https://${host}:${server.port}/`)
    } finally {
      await server.close()
    }
  }

  test('customCa adds an authority; names and addresses are verified', async () => {
    expect(await secureGet(root.issue(['a.test']))).toEqual({ status: 200, text: 'secure' })
    expect(await secureGet(root.issue(['a.test']), 'A.TEST.')).toEqual({ status: 200, text: 'secure' })
    expect(await secureGet(root.issue(['127.0.0.1']), '127.0.0.1')).toEqual({ status: 200, text: 'secure' })
    expect(await secureGet(root.issue(['a.test']), 'a.test', `${evil.pem}\n${root.pem}`)).toMatchObject({ status: 200 })
  })

  test.each([
    ['another name', () => root.issue(['b.test']), 'a.test', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['a name for an address', () => root.issue(['a.test']), '127.0.0.1', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['another address', () => root.issue(['127.0.0.2']), '127.0.0.1', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['an expired one', () => root.issue(['a.test'], { from: -3, to: -1 }), 'a.test', 'CERT_HAS_EXPIRED'],
    ['one of the future', () => root.issue(['a.test'], { from: 1, to: 2 }), 'a.test', 'CERT_NOT_YET_VALID'],
    ['another authority', () => evil.issue(['a.test']), 'a.test', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ])('%s is not accepted', async (_, tls, host, rule) => {
    const fault = faultOf(await secureGet(tls(), host))
    expect(fault).toMatchObject({ code: 'tls', rule, exitCode: 6, dispatched: false })
    expect(fault.message).toContain('customCa')
  })

  test('a self-signed certificate is not accepted, unless customCa is that certificate', async () => {
    const { selfSigned } = await import('../network/certificate.ts')
    const own = selfSigned('a.test')
    expect(faultOf(await secureGet(own))).toMatchObject({ code: 'tls', rule: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    expect(await secureGet(own, 'a.test', own.cert)).toEqual({ status: 200, text: 'secure' })
  })

  test('a server that speaks plain HTTP is no TLS server, and the other way round', async () => {
    expect(faultOf(await get(await opened(), `https://a.test:${web.port}/`))).toMatchObject({
      code: 'tls',
      dispatched: false,
    })
    const server = await serve(hello, root.issue(['a.test']))
    expect(faultOf(await get(await opened(), `http://a.test:${server.port}/`))).toMatchObject({ exitCode: 6 })
    await server.close()
  })

  test.each([
    ['a key', (tls: { key: string }) => tls.key, 'private key'],
    ['a certificate with its key', (tls: { key: string; cert: string }) => tls.cert + tls.key, 'private key'],
    ['a comment', (tls: { cert: string }) => `# root\n${tls.cert}`, 'something else'],
    [
      'another label',
      (tls: { cert: string }) => tls.cert.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE'),
      'something else',
    ],
    ['no certificate', () => ' \n', 'no PEM block'],
    ['a broken certificate', () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'certificate 1'],
  ])('customCa with %s is refused, and no client comes about', async (_, text, detail) => {
    const issued = root.issue(['a.test'])
    const [policy, secrets] = trusting(networkPolicy(['*.test'], loopback), text(issued))
    const result = await guardedClient(policy, { environment: {}, secrets: secretsOf(), ...secrets })
    expect(result).toMatchObject({ ok: false, fault: { code: 'refused', rule: 'network.customCa', exitCode: 3 } })
    const message = result.ok ? '' : result.fault.message
    expect(message).toContain(detail)
    expect(message).not.toContain(issued.key.split('\n')[1])
  })

  test('customCa needs its variable allowed and set', async () => {
    const [policy] = trusting(networkPolicy(['*.test'], loopback), root.pem)
    const unset = await guardedClient(policy, { environment: {}, secrets: secretsOf() })
    expect(unset).toMatchObject({ ok: false, fault: { rule: 'network.customCa', exitCode: 3 } })
    const secrets = secretsOf({ TEST_CA: root.pem })
    const unlisted = await guardedClient({ ...policy, environmentAllowlist: [] }, { environment: {}, secrets })
    expect(unlisted).toMatchObject({ ok: false, fault: { rule: 'environmentAllowlist', exitCode: 3 } })
    expect(unlisted.ok ? '' : unlisted.fault.message).toContain('add `TEST_CA`')
  })
})
