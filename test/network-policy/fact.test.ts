import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NetworkFact } from '../../policy/decision/index.ts'
import { dnsResolver, networkFact } from '../../runner/network/index.ts'
import { type DnsServer, dnsServer } from './dns-server.ts'
import { networkPolicy, resolverAt } from './opened.ts'

let dns: DnsServer
beforeAll(async () => {
  dns = await dnsServer()
})
afterAll(() => dns.close())

const factOf = (url: string, policy = networkPolicy(['*.test']), environment = {}): Promise<NetworkFact> =>
  networkFact(url, policy, { resolver: resolverAt(dns.port), environment })

describe('one look-up, sorted and whole', () => {
  test('both families, each address once, IPv4 first', async () => {
    dns.answers.set('both.test', ['2606:4700::1', '93.184.216.35', '93.184.216.34', '93.184.216.35'])
    expect(await factOf('https://BOTH.test:8443/x?secret')).toEqual({
      known: true,
      target: { scheme: 'https', host: 'both.test', port: 8443 },
      addresses: ['93.184.216.34', '93.184.216.35', '2606:4700::1'],
      proxy: null,
    })
    expect(dns.asked.filter(question => question.endsWith('both.test')).sort()).toEqual([
      'A both.test',
      'AAAA both.test',
    ])
  })

  test('an answer too long for a datagram arrives whole', async () => {
    const many = Array.from({ length: 120 }, (_, index) => `93.184.217.${index}`)
    dns.answers.set('many.test', [...many, '10.0.0.1'])
    const fact = await factOf('https://many.test/')
    expect(fact).toMatchObject({ known: true })
    expect(fact.known && fact.addresses).toHaveLength(121)
    expect(fact.known && fact.addresses[0]).toBe('10.0.0.1')
  })

  test('an address is its own answer and asks nobody', async () => {
    const before = dns.asked.length
    expect(await factOf('http://0x7f.1:8080/', networkPolicy(['127.0.0.1']))).toMatchObject({
      addresses: ['127.0.0.1'],
    })
    expect(await factOf('http://[::FFFF:10.0.0.1]/', networkPolicy(['::ffff:10.0.0.1']))).toMatchObject({
      addresses: ['::ffff:a00:1'],
    })
    expect(dns.asked).toHaveLength(before)
  })

  test('what the policy refuses by name is never asked of DNS', async () => {
    const before = dns.asked.length
    for (const url of ['https://secret-data.evil.example/', 'ftp://a.test/', 'https://u@a.test/', 'https://test/']) {
      const fact = await factOf(url)
      expect(fact.known ? fact.addresses : []).toEqual([])
    }
    expect(await factOf('http://a.test/', networkPolicy(['*.test'], { allowedPorts: [443] }))).toMatchObject({
      addresses: [],
    })
    expect(dns.asked).toHaveLength(before)
  })
})

describe('the hosts file', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentctl-hosts-'))
    const lines = [
      '# b.test',
      '93.184.216.34 b.test c.test',
      '93.184.216.35\tB.TEST # c',
      '10.0.0.1 b.test.evil',
      'fe80::1%lo b.test',
    ]
    await writeFile(join(folder, 'hosts'), lines.join('\n'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const addressesOf = async (host: string, hostsFile: string) => {
    const resolver = dnsResolver({ servers: [`127.0.0.1:${dns.port}`], hostsFile })
    return networkFact(`https://${host}/`, networkPolicy(['*.test']), { resolver, environment: {} })
  }

  test('counts before DNS, whole and by exact name', async () => {
    dns.answers.set('b.test', ['93.184.216.99'])
    const hosts = join(folder, 'hosts')
    expect(await addressesOf('b.test', hosts)).toMatchObject({ addresses: ['93.184.216.34', '93.184.216.35'] })
    expect(await addressesOf('c.test', hosts)).toMatchObject({ addresses: ['93.184.216.34'] })
    expect(await addressesOf('b.test', join(folder, 'absent'))).toMatchObject({ addresses: ['93.184.216.99'] })
  })

  test('one that cannot be read is a failure, not DNS alone', async () => {
    expect(await addressesOf('b.test', folder)).toMatchObject({ known: false, cause: 'dns_failed' })
  })
})

describe('an unknown fact says why', () => {
  test.each([
    ['gone.test', 'nxdomain', 'dns_not_found'],
    ['none.test', [], 'dns_not_found'],
    ['broken.test', 'broken', 'dns_failed'],
  ] as const)('%s', async (name, answer, cause) => {
    dns.answers.set(name, answer)
    expect(await factOf(`https://${name}/`)).toMatchObject({
      known: false,
      cause,
      detail: expect.stringContaining(name),
    })
  })

  test('a silent server ends at connectTimeoutSeconds', async () => {
    dns.answers.set('silent.test', 'silent')
    const start = performance.now()
    const fact = await factOf('https://silent.test/', networkPolicy(['*.test'], { connectTimeoutSeconds: 1 }))
    expect(fact).toMatchObject({ known: false, cause: 'dns_timeout' })
    expect(performance.now() - start).toBeGreaterThan(950)
    expect(performance.now() - start).toBeLessThan(3_000)
  })

  test('a cancelled look-up ends at once', async () => {
    dns.answers.set('silent.test', 'silent')
    const cancelling = new AbortController()
    const waiting = networkFact('https://silent.test/', networkPolicy(['*.test'], { connectTimeoutSeconds: 60 }), {
      resolver: resolverAt(dns.port),
      environment: {},
      signal: cancelling.signal,
    })
    cancelling.abort()
    expect(await waiting).toMatchObject({ known: false, cause: 'dns_cancelled' })
  })

  test('the resolver itself gives up, before its question and after it', async () => {
    dns.answers.set('waiting.test', 'silent')
    for (const isAsked of [false, true]) {
      const cancelling = new AbortController()
      const looking = resolverAt(dns.port)('waiting.test', cancelling.signal)
      while (isAsked && !dns.asked.includes('AAAA waiting.test')) await new Promise(setImmediate)
      const start = performance.now()
      cancelling.abort()
      await expect(looking).rejects.toThrow()
      expect(performance.now() - start).toBeLessThan(1_000)
      if (!isAsked) expect(dns.asked).not.toContain('A waiting.test')
    }
  })
})

describe('proxy variables', () => {
  const proxied = networkPolicy(['*.test'], { allowProxy: true })
  beforeAll(() => {
    dns.answers.set('a.test', ['93.184.216.34'])
    dns.answers.set('proxy.corp', ['9.9.9.9', '2606:4700::9'])
  })

  test('mean nothing unless the policy says allowProxy', async () => {
    const environment = {
      https_proxy: 'http://proxy.corp:3128',
      HTTPS_PROXY: 'x',
      ALL_PROXY: 'socks5://x',
      http_proxy: 'y',
    }
    expect(await factOf('https://a.test/', networkPolicy(['*.test']), environment)).toMatchObject({
      known: true,
      proxy: null,
    })
    expect(dns.asked.some(question => question.includes('corp'))).toBe(false)
  })

  const found = { target: { scheme: 'http', host: 'proxy.corp', port: 3128 }, addresses: ['9.9.9.9', '2606:4700::9'] }
  test.each([
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128' }, found],
    ['https://a.test/', { HTTPS_PROXY: 'http://PROXY.corp.:3128/' }, found],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', HTTPS_PROXY: 'http://other.corp' }, found],
    ['https://a.test/', { all_proxy: 'http://proxy.corp:3128', http_proxy: 'http://other.corp' }, found],
    ['http://a.test/', { http_proxy: 'http://proxy.corp:3128', https_proxy: 'http://other.corp' }, found],
    ['https://a.test/', { http_proxy: 'http://proxy.corp:3128' }, null],
    ['https://a.test/', { https_proxy: '' }, null],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', no_proxy: '*' }, null],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', no_proxy: 'b.test, A.TEST' }, null],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', NO_PROXY: '.test' }, null],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', no_proxy: '*.test' }, null],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', no_proxy: 'a.test:443' }, null],
    ['https://a.test/', { https_proxy: 'http://proxy.corp:3128', no_proxy: 'a.test:444,est,xa.test' }, found],
  ] as const)('%s with %j', async (url, environment, expected) => {
    expect(await factOf(url, proxied, environment)).toMatchObject({ known: true, proxy: expected })
  })

  test.each([
    ['socks5://proxy.corp:1080', 'proxy_variable'],
    ['proxy.corp:3128', 'proxy_variable'],
    ['http://u:hunter22@gone.corp:3128', 'dns_not_found'],
  ])('%s makes the fact unknown', async (https_proxy, cause) => {
    const fact = await factOf('https://a.test/', proxied, { https_proxy })
    expect(fact).toMatchObject({ known: false, cause })
    expect(JSON.stringify(fact)).not.toContain('hunter22')
  })

  test('credentials of the proxy stand in no fact', async () => {
    const fact = await factOf('https://a.test/', proxied, { https_proxy: 'http://user:hunter22@proxy.corp:3128' })
    expect(fact).toMatchObject({ known: true, proxy: found })
    expect(JSON.stringify(fact)).not.toContain('hunter22')
  })
})
