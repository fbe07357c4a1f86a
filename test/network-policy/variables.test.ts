import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalServer, serve } from '../network/server.ts'
import { authority } from './authority.ts'
import { type DnsServer, dnsServer } from './dns-server.ts'

const evil = authority('an authority that only a variable names')
let folder: string
let dns: DnsServer
let secure: LocalServer
let proxy: Server
let proxied = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentctl-authorities-'))
  await mkdir(join(folder, 'certs'))
  for (const name of ['evil.pem', 'certs/evil.pem']) await writeFile(join(folder, name), evil.pem)
  dns = await dnsServer()
  dns.answers.set('a.test', ['127.0.0.1'])
  secure = await serve((_, response) => void response.end('secure'), evil.issue(['a.test']))
  proxy = createServer(socket => {
    proxied++
    socket.destroy()
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
})
afterAll(async () => {
  await Promise.all([secure.close(), dns.close(), new Promise(done => proxy.close(done))])
  await rm(folder, { recursive: true })
})

async function seen(environment: { [name: string]: string }, mode = ''): Promise<unknown> {
  const script = join(import.meta.dirname, 'request-once.ts')
  const args = [script, `https://a.test:${secure.port}/`, String(dns.port), mode]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment, timeout: 50_000 })
  return JSON.parse(stdout)
}

const refused = { fault: { code: 'tls', rule: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', exitCode: 6, dispatched: false } }

describe('in a process of its own', () => {
  test('the authority is accepted by customCa, so that only the variable is what fails below', async () => {
    expect(await seen({ TEST_CA: evil.pem }, 'custom')).toEqual({ status: 200, text: 'secure' })
  })

  test.each([
    ['NODE_TLS_REJECT_UNAUTHORIZED', () => ({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }), ''],
    ['NODE_EXTRA_CA_CERTS', () => ({ NODE_EXTRA_CA_CERTS: join(folder, 'evil.pem') }), ''],
    ['SSL_CERT_FILE', () => ({ SSL_CERT_FILE: join(folder, 'evil.pem') }), ''],
    ['SSL_CERT_DIR', () => ({ SSL_CERT_DIR: join(folder, 'certs') }), ''],
    ['SSL_CERT_FILE, which Node remembered before', () => ({ SSL_CERT_FILE: join(folder, 'evil.pem') }), 'own'],
    [
      'NODE_OPTIONS for other stores and ciphers',
      () => ({
        NODE_OPTIONS: '--use-openssl-ca --tls-min-v1.0 --tls-cipher-list=ALL:aNULL:@SECLEVEL=0',
        SSL_CERT_FILE: join(folder, 'evil.pem'),
      }),
      '',
    ],
    ['NODE_USE_SYSTEM_CA', () => ({ NODE_USE_SYSTEM_CA: '1', SSL_CERT_FILE: join(folder, 'evil.pem') }), ''],
  ] as [string, () => { [name: string]: string }, string][])('%s changes nothing', async (_, environment, mode) => {
    expect(await seen(environment(), mode)).toMatchObject(refused)
  })

  test('proxy variables and NODE_USE_ENV_PROXY change nothing', async () => {
    const address = proxy.address()
    const at = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
    const names = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
    const environment = Object.fromEntries(names.map(name => [name, at]))
    const all = { ...environment, NODE_USE_ENV_PROXY: '1', TEST_CA: evil.pem }
    expect(await seen(all, 'custom')).toEqual({ status: 200, text: 'secure' })
    expect(proxied).toBe(0)
  })
})
