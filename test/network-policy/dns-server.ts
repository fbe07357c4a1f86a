import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIPv6, type Socket } from 'node:net'

/** What a name is answered with: addresses of both families, no such name, or silence. */
export type DnsAnswer = readonly string[] | 'nxdomain' | 'silent' | 'broken'

export interface DnsServer {
  port: number
  /** Every question asked, `A example.test`, in order. */
  asked: string[]
  /** Answers by name; a list of lists gives its next entry at each A question, the last one for ever. */
  answers: Map<string, DnsAnswer | readonly (readonly string[])[]>
  close(): Promise<void>
}

const types: { [code: number]: string } = { 1: 'A', 28: 'AAAA' }

/** A DNS server on loopback, over UDP and TCP on one port: what does not fit 512 bytes is truncated and asked again by TCP. */
export async function dnsServer(port = 0, address = '127.0.0.1'): Promise<DnsServer> {
  const asked: string[] = []
  const answers: DnsServer['answers'] = new Map()
  const turns = new Map<string, number>()

  function answerTo(query: Buffer): Buffer | null {
    const { name, type, end } = questionOf(query)
    asked.push(`${types[type] ?? type} ${name}`)
    const answer = current(name, type)
    if (answer === 'silent') return null
    if (answer === 'nxdomain') return reply(query, end, 3, [])
    if (answer === 'broken') return reply(query, end, 2, [])
    const records = answer.filter(text => (isIPv6(text) ? 28 : 1) === type)
    return reply(query, end, 0, records)
  }

  function current(name: string, type: number): DnsAnswer {
    const answer = answers.get(name) ?? 'nxdomain'
    if (typeof answer === 'string' || !Array.isArray(answer[0])) return answer as DnsAnswer
    const lists = answer as readonly (readonly string[])[]
    const turn = (turns.get(name) ?? -1) + (type === 1 ? 1 : 0)
    turns.set(name, turn)
    return lists[Math.max(0, Math.min(turn, lists.length - 1))] ?? []
  }

  const tcp = createServer(socket => serveTcp(socket, answerTo))
  const sockets = new Set<Socket>()
  tcp.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  tcp.listen(port, address)
  await once(tcp, 'listening')
  const bound = tcp.address()
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port
  const udp = createSocket('udp4')
  udp.on('message', (query, from) => {
    const full = answerTo(query)
    if (full !== null) udp.send(full.length <= 512 ? full : truncated(query), from.port, from.address)
  })
  udp.bind(boundPort, address)
  await once(udp, 'listening')
  return {
    port: boundPort,
    asked,
    answers,
    async close() {
      for (const socket of sockets) socket.destroy()
      await Promise.all([new Promise(done => tcp.close(done)), new Promise<void>(done => udp.close(done))])
    },
  }
}

function serveTcp(socket: Socket, answerTo: (query: Buffer) => Buffer | null): void {
  let pending = Buffer.alloc(0)
  socket.on('data', part => {
    pending = Buffer.concat([pending, part])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const length = pending.readUInt16BE(0)
      const answer = answerTo(pending.subarray(2, 2 + length))
      pending = pending.subarray(2 + length)
      if (answer === null) continue
      const prefix = Buffer.alloc(2)
      prefix.writeUInt16BE(answer.length)
      socket.write(Buffer.concat([prefix, answer]))
    }
  })
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function reply(query: Buffer, end: number, code: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, ...addresses.map(record)])
}

function truncated(query: Buffer): Buffer {
  const { end } = questionOf(query)
  const head = reply(query, end, 0, [])
  head.writeUInt16BE(0x8380, 2)
  return head
}

function record(address: string): Buffer {
  const data = addressBytes(address)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(data.length === 4 ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head = '', tail = ''] = groups.split('::')
  const hex = (part: string) => part.split(':').filter(group => group !== '')
  const missing = 8 - hex(head).length - hex(tail).length
  const all = [...hex(head), ...Array<string>(groups.includes('::') ? missing : 0).fill('0'), ...hex(tail)]
  return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex')
}
