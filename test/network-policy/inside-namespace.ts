import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createPlain } from 'node:http'
import { createServer } from 'node:https'
import { connect, createServer as createTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { networkFact } from '../../runner/network/index.ts'
import { authority } from './authority.ts'
import { dnsServer } from './dns-server.ts'
import { get, networkPolicy, open, type Seen, trusting } from './opened.ts'

/**
 * Runs in a network and mount namespace of its own, `node inside-namespace.ts FOLDER`, with the platform's own resolver and
 * authorities and with public addresses that are really there: on the loopback device. Nothing of the client is replaced.
 * Prints what each request saw, by name.
 */
const folder = process.argv[2] ?? ''
const publicAddress = '93.184.216.34'
const otherPublic = '93.184.216.35'
const publicIpv6 = '2606:2800:220:1::34'
const system = authority('platform root')
const custom = authority('custom root')
const names = ['good', 'mixed', 'mixed6', 'rebind', 'six', 'pinned', 'metadata', 'expired'].map(name => `${name}.test`)

arrange()
const dns = await dnsServer(53)
const touched: string[] = []
await serveSecure(publicAddress, system)
await serveSecure(publicIpv6, system)
await serveSecure(otherPublic, custom)
for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1']) await serveSecure(address, system)
const proxy = await serveProxy(otherPublic, 3128)

dns.answers.set('good.test', [publicAddress])
dns.answers.set('custom.test', [otherPublic])
dns.answers.set('six.test', [publicIpv6])
dns.answers.set('mixed.test', [publicAddress, '10.0.0.1'])
dns.answers.set('mixed6.test', [publicAddress, '::1'])
dns.answers.set('metadata.test', ['169.254.169.254'])
dns.answers.set('rebind.test', [[publicAddress], ['127.0.0.1'], ['10.0.0.1']])
dns.answers.set('silent.test', 'silent')
dns.answers.set('gone.test.corp.test', [publicAddress])
dns.answers.set('proxy.test', [otherPublic])

const seen: { [name: string]: unknown } = {}
const policy = networkPolicy(['*.test'], { connectTimeoutSeconds: 10 })
const client = await open(policy)

for (const name of ['good', 'six', 'pinned', 'mixed', 'mixed6', 'metadata', 'gone'])
  seen[name] = await connectionsOf(() => get(client, `https://${name}.test/`))
seen['localhost'] = await get(await open(networkPolicy(['localhost'])), 'https://localhost/')
seen['customWithout'] = await get(client, 'https://custom.test/')
const [trustingPolicy, secrets] = trusting(policy, custom.pem)
const trustingClient = await open(trustingPolicy, secrets)
seen['customWith'] = await get(trustingClient, 'https://custom.test/')
seen['platformToo'] = await get(trustingClient, 'https://good.test/')

const fact = await networkFact('https://rebind.test/', policy, { environment: {} })
seen['rebindFact'] = await connectionsOf(() => get(client, 'https://rebind.test/', { fact }))
seen['rebindNew'] = await connectionsOf(() => get(client, 'https://rebind.test/'))
seen['rebindFactAgain'] = await connectionsOf(() => get(client, 'https://rebind.test/', { fact }))

const environment = { https_proxy: 'http://proxy.test:3128' }
const through = await open({ ...policy, network: { ...policy.network, allowProxy: true } }, { environment })
seen['proxied'] = await get(through, 'https://good.test/')
seen['proxyHeads'] = proxy

const hasty = await open(networkPolicy(['*.test'], { connectTimeoutSeconds: 1 }))
const start = performance.now()
seen['silent'] = await get(hasty, 'https://silent.test/')
seen['silentMilliseconds'] = performance.now() - start
console.log(JSON.stringify(seen))
process.exit(0)

function arrange(): void {
  run('ip', 'link', 'set', 'lo', 'up')
  for (const address of [publicAddress, otherPublic, '10.0.0.1', '169.254.169.254'])
    run('ip', 'addr', 'add', `${address}/32`, 'dev', 'lo')
  run('ip', '-6', 'addr', 'add', `${publicIpv6}/128`, 'dev', 'lo', 'nodad')
  mkdirSync(join(folder, 'certs'))
  writeFileSync(join(folder, 'certs', 'platform.pem'), system.pem)
  writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\nsearch corp.test\n')
  writeFileSync(
    join(folder, 'hosts'),
    `127.0.0.1 localhost\n${publicAddress} other.test Pinned.test # the runner's own\nx pinned.test\n`,
  )
  run('mount', '--bind', join(folder, 'certs'), '/etc/ssl/certs')
  run('mount', '--bind', join(folder, 'resolv.conf'), '/etc/resolv.conf')
  run('mount', '--bind', join(folder, 'hosts'), '/etc/hosts')
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

async function serveSecure(address: string, issuer: ReturnType<typeof authority>): Promise<void> {
  const server = createServer(issuer.issue([...names, 'custom.test', 'localhost']), (_, response) => {
    response.end(`answer of ${address}`)
  })
  server.on('connection', () => touched.push(address))
  server.listen(443, address)
  await once(server, 'listening')
}

/** A CONNECT proxy; gives the list of what it was told to connect to. */
async function serveProxy(address: string, port: number): Promise<string[]> {
  const heads: string[] = []
  const server = createPlain()
  server.on('connect', (request, socket: Socket) => {
    heads.push(request.url ?? '')
    const [host = '', at = ''] = (request.url ?? '').split(':')
    const target = connect(Number(at), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
  })
  server.listen(port, address)
  await once(server, 'listening')
  return heads
}

/** What a request saw, and every address that was connected to for it. */
async function connectionsOf(request: () => Promise<Seen>): Promise<{ seen: Seen; touched: string[] }> {
  touched.length = 0
  const answer = await request()
  // A connection of ours that the kernel has made is accepted before one that is made now.
  const last = createTcp()
  last.listen(0, '127.0.0.1')
  await once(last, 'listening')
  const address = last.address()
  const probe = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
  await once(last, 'connection')
  probe.destroy()
  last.close()
  return { seen: answer, touched: [...touched] }
}
