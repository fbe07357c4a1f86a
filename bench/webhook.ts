import { type ChildProcess, fork } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type BenchRow, median } from './bench.ts'

const secret = 'bench secret'
const turns = 20
const perTurn = 640
const connections = 64
const halfLoadSeconds = 4

/** Deliveries a second that are durable in the inbox, against a bare route that verifies and forgets them; then the latency at half of that. */
export async function bench(): Promise<BenchRow[]> {
  const directory = mkdtempSync(join(process.env['TMPDIR'] ?? '/var/tmp', 'agentctl-bench-webhook-'))
  const ours = await start('ours', directory)
  const bare = await start('bare', directory)
  try {
    const rates = { ours: [] as number[], bare: [] as number[] }
    for (let turn = 0; turn <= turns; turn++) {
      const first = await rate(ours)
      const second = await rate(bare)
      // The first pair warms both up.
      if (turn === 0) continue
      rates.ours.push(first)
      rates.bare.push(second)
    }
    const [fast, peer] = [median(rates.ours), median(rates.bare)]
    const latencies = await atRate(ours, fast / 2)
    const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN
    const shown = `${Math.round(fast)}/s against ${Math.round(peer)}/s, medians of ${turns} turns of ${perTurn}, ${connections} connections`
    return [
      {
        name: 'webhook-inbox',
        what: 'webhook to durable inbox (Node, one core)',
        against: 'a bare Hono route that verifies the same HMAC',
        goal: '>= 0.5x',
        ratio: fast / peer,
        detail: shown,
      },
      {
        name: 'webhook-latency',
        what: 'webhook to durable inbox, p99 at half load',
        against: 'milliseconds',
        goal: '< 20',
        ratio: p99,
        detail: `${latencies.length} deliveries at ${Math.round(fast / 2)}/s, median ${median(latencies).toFixed(1)} ms`,
      },
    ]
  } finally {
    await Promise.all([stop(ours), stop(bare)])
  }
}

interface Server {
  child: ChildProcess
  url: string
  agent: Agent
}

function start(kind: 'ours' | 'bare', directory: string): Promise<Server> {
  const child = fork(join(import.meta.dirname, 'webhook.worker.ts'), [kind, directory, secret])
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the ${kind} server ended with ${code}`)))
    child.once('message', message => {
      const { port } = message as { port: number }
      resolve({
        child,
        url: `http://127.0.0.1:${port}/webhooks/github`,
        agent: new Agent({ connections, pipelining: 1 }),
      })
    })
  })
}

async function stop({ child, agent }: Server): Promise<void> {
  await agent.close()
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.send('stop')
  await ended
}

/** Deliveries a second with every connection busy. */
async function rate(server: Server): Promise<number> {
  const deliveries = Array.from({ length: perTurn }, delivery)
  const start = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let next = deliveries.pop(); next !== undefined; next = deliveries.pop()) await send(server, next)
    }),
  )
  return perTurn / ((performance.now() - start) / 1000)
}

/** Milliseconds of deliveries that come at their own times, whether or not the earlier ones were answered; sorted. */
async function atRate(server: Server, perSecond: number): Promise<number[]> {
  const count = Math.round(perSecond * halfLoadSeconds)
  const latencies: number[] = []
  const sent: Promise<void>[] = []
  const begin = performance.now()
  for (let index = 0; index < count; index++) {
    const due = begin + (index / perSecond) * 1000
    const wait = due - performance.now()
    if (wait > 1) await delay(wait)
    const at = performance.now()
    sent.push(send(server, delivery()).then(() => void latencies.push(performance.now() - at)))
  }
  await Promise.all(sent)
  return latencies.sort((left, right) => left - right)
}

interface Sent {
  body: string
  headers: { [name: string]: string }
}

async function send({ url, agent }: Server, { body, headers }: Sent): Promise<void> {
  const answer = await request(url, { method: 'POST', dispatcher: agent, headers, body })
  await answer.body.dump()
  if (answer.statusCode !== 202) throw new Error(`a delivery was answered ${answer.statusCode}`)
}

let comments = 1_000_000

/** One signed comment of the size that GitHub sends, on an issue that is not ours: it ends in the inbox, as most do. */
function delivery(): Sent {
  comments += 1
  const account = (id: number, login: string) => ({ ...links(login, 18), id, login, type: 'User', node_id: 'U_1' })
  const body = JSON.stringify({
    action: 'created',
    issue: {
      ...links('issue', 10),
      id: 1,
      node_id: 'I_1',
      number: 1,
      state: 'open',
      title: 'A bug',
      body: 'It does not work. '.repeat(40),
      user: account(1, 'alice'),
    },
    comment: {
      ...links('comment', 4),
      id: comments,
      node_id: 'IC_1',
      body: 'Same here.',
      user: account(2, 'bob'),
      created_at: '2026-01-01T00:00:00Z',
    },
    repository: { ...links('repository', 46), id: 42, name: 'app', owner: account(3, 'org') },
    sender: account(2, 'bob'),
  })
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issue_comment',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  }
}

/** The many addresses that every object of a payload carries. */
function links(of: string, count: number): { [name: string]: string } {
  const entries = Array.from({ length: count }, (_, index) => [
    `${of}_url_${index}`,
    `https://api.github.com/repos/org/app/${of}/${index}{/part}`,
  ])
  return Object.fromEntries(entries)
}
