import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkPolicy } from '../../policy/decision/index.ts'
import { networkFact } from '../../runner/network/index.ts'
import { type LocalServer, serve } from '../network/server.ts'
import { authority } from './authority.ts'
import { type DnsServer, dnsServer } from './dns-server.ts'
import { closeAll, get, networkPolicy, open, resolverAt, trusting } from './opened.ts'

const root = authority('test root')
let dns: DnsServer
let plain: LocalServer
let secure: LocalServer
let proxy: LocalProxy
let secureProxy: LocalProxy

beforeAll(async () => {
  dns = await dnsServer()
  dns.answers.set('a.test', ['127.0.0.1'])
  dns.answers.set('proxy.corp', ['127.0.0.1'])
  plain = await serve((_, response) => void response.end('plain'))
  secure = await serve((_, response) => void response.end('secure'), root.issue(['a.test']))
  proxy = await startProxy(createServer())
  secureProxy = await startProxy(createSecureServer(root.issue(['proxy.corp'])))
})
afterEach(async () => {
  await closeAll()
  for (const one of [proxy, secureProxy]) one.heads.length = 0
  refuseWith = null
})
afterAll(() => Promise.all([plain, secure, proxy, secureProxy, dns].map(server => server.close())))

interface LocalProxy {
  port: number
  /** `CONNECT TARGET AUTHORIZATION` of each request. */
  heads: string[]
  close(): Promise<void>
}

let refuseWith: string | null = null

/** A CONNECT proxy that connects to what it is told, and remembers what that was. */
async function startProxy(server: Server): Promise<LocalProxy> {
  const heads: string[] = []
  const sockets = new Set<Socket>()
  server.on('connection', socket => sockets.add(socket))
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    heads.push(`${request.url} ${request.headers['proxy-authorization'] ?? 'nobody'}`)
    client.on('error', () => {})
    if (refuseWith !== null) return void client.end(refuseWith)
    const { hostname, port } = new URL(`http://${request.url}`)
    const target = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
    sockets.add(target)
    target.on('error', () => client.destroy())
    target.on('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(target).pipe(client)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(done => server.close(done))
  }
  return { port, heads, close }
}

async function proxied(environment: { [name: string]: string }, network: Partial<NetworkPolicy> = {}) {
  const allowed = networkPolicy(['*.test'], { allowPrivate: true, allowProxy: true, ...network })
  const [policy, secrets] = trusting(allowed, root.pem)
  const resolver = resolverAt(dns.port)
  return { policy, resolver, client: await open(policy, { resolver, environment, ...secrets }) }
}

describe('allowProxy', () => {
  test('without it every proxy variable means nothing', async () => {
    const at = `http://127.0.0.1:${proxy.port}`
    const environment = {
      http_proxy: at,
      https_proxy: at,
      HTTP_PROXY: at,
      HTTPS_PROXY: at,
      all_proxy: at,
      ALL_PROXY: at,
    }
    const { client } = await proxied(environment, { allowProxy: false })
    expect(await get(client, `http://a.test:${plain.port}/`)).toEqual({ status: 200, text: 'plain' })
    expect(await get(client, `https://a.test:${secure.port}/`)).toEqual({ status: 200, text: 'secure' })
    expect(proxy.heads).toEqual([])
  })

  test('http and https both go through a tunnel to the checked address, never to a name', async () => {
    const at = `http://proxy.corp:${proxy.port}`
    const { client } = await proxied({ http_proxy: at, https_proxy: at })
    expect(await get(client, `http://a.test:${plain.port}/`)).toEqual({ status: 200, text: 'plain' })
    expect(await get(client, `https://a.test:${secure.port}/`)).toEqual({ status: 200, text: 'secure' })
    expect(proxy.heads).toEqual([`127.0.0.1:${plain.port} nobody`, `127.0.0.1:${secure.port} nobody`])
  })

  test('a proxy over TLS is verified against its own name', async () => {
    const { client } = await proxied({ https_proxy: `https://proxy.corp:${secureProxy.port}` })
    expect(await get(client, `https://a.test:${secure.port}/`)).toEqual({ status: 200, text: 'secure' })
    expect(secureProxy.heads).toEqual([`127.0.0.1:${secure.port} nobody`])
    const wrong = await proxied({ https_proxy: `https://127.0.0.1:${secureProxy.port}` })
    expect(await get(wrong.client, `https://a.test:${secure.port}/`)).toMatchObject({
      fault: { code: 'tls', dispatched: false },
    })
  })

  test('credentials of the variable are sent to the proxy and told to nobody', async () => {
    const { client } = await proxied({ https_proxy: `http://me:hunter%3222@proxy.corp:${proxy.port}` })
    expect(await get(client, `https://a.test:${secure.port}/`)).toMatchObject({ status: 200 })
    expect(proxy.heads).toEqual([`127.0.0.1:${secure.port} Basic ${Buffer.from('me:hunter222').toString('base64')}`])
    await closeAll()
    refuseWith = 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'
    const refused = await proxied({ https_proxy: `http://me:hunter222@proxy.corp:${proxy.port}` })
    const seen = await get(refused.client, `https://a.test:${secure.port}/`)
    expect(seen).toMatchObject({ fault: { code: 'proxy', rule: '407', exitCode: 6, dispatched: false } })
    expect(JSON.stringify(seen)).not.toMatch(/hunter|Basic/)
  })

  test.each([
    ['no HTTP', 'SSH-2.0-x\r\n\r\n', 'proxy'],
    ['the end', '', 'connect'],
    ['a head without end', 'HTTP/1.1 200 OK\r\nx: '.padEnd(20_000, 'y'), 'connect'],
    [
      'bytes before the client spoke',
      'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake',
      'connect',
    ],
    ['another success', 'HTTP/1.1 204 No Content\r\n\r\n', 'proxy'],
  ])('a proxy that answers with %s gives no tunnel', async (_, bytes, code) => {
    refuseWith = bytes
    const at = `http://proxy.corp:${proxy.port}`
    const { client } = await proxied({ http_proxy: at })
    expect(await get(client, `http://a.test:${plain.port}/`)).toMatchObject({
      fault: { code, exitCode: 6, dispatched: false },
    })
  })

  test('a private proxy is refused without allowPrivate, and so is a private target behind it', async () => {
    dns.answers.set('public.test', ['93.184.216.34'])
    const { client } = await proxied({ https_proxy: `http://proxy.corp:${proxy.port}` }, { allowPrivate: false })
    expect(await get(client, 'https://public.test/')).toMatchObject({
      fault: {
        code: 'refused',
        rule: 'network.allowPrivate',
        exitCode: 3,
        message: expect.stringContaining('the proxy http://proxy.corp'),
      },
    })
    expect(await get(client, 'https://a.test/')).toMatchObject({
      fault: { rule: 'network.allowPrivate', message: expect.stringContaining('https://a.test') },
    })
    expect(proxy.heads).toEqual([])
  })

  test('a proxy that changed since the fact is not used', async () => {
    const { client, policy, resolver } = await proxied({})
    const environment = { https_proxy: `http://proxy.corp:${proxy.port}` }
    const at = `https://a.test:${secure.port}/`
    const fact = await networkFact(at, policy, { resolver, environment })
    expect(await get(client, at, { fact })).toMatchObject({
      fault: { code: 'proxy', rule: 'proxy_changed', dispatched: false },
    })
  })

  test('a malformed variable is a fault, not a connection without it', async () => {
    const { client } = await proxied({ https_proxy: 'socks5://proxy.corp:1080' })
    expect(await get(client, `https://a.test:${secure.port}/`)).toMatchObject({
      fault: { code: 'proxy', rule: 'proxy_variable', exitCode: 6, message: expect.stringContaining('https_proxy') },
    })
  })
})
