import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LeaseCommand } from '../../ledger/commands.ts'
import { blobPartBytes } from '../../ledger/payload.ts'
import { type Batch, type Ledger, LedgerError } from '../../ledger/port.ts'
import { remoteLedger } from '../../ledger/remote.ts'
import { retryAfter } from '../../ledger/remote-call.ts'
import { commandsLimitBytes } from '../../ledger/remote-fit.ts'
import { sha256 } from '../../policy/canonical.ts'
import { ownFetch } from '../../runner/network/own.ts'
import { answer, bodyOf, type LocalServer, serve } from './server.ts'

/** What the server does with the next request instead of serving it. */
type Trouble = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

const head = 'a'.repeat(64)
const receipt = { epoch: 3, head, cancelRequested: false }
const commandsPath = '/v1/repos/own%20er/repo/runs/run-1/commands'

let server: LocalServer
let ledger: Ledger
let troubles: Trouble[]
let requests: { method: string; path: string; authorization: string; at: number }[]
/** Commands as committed, by id: a repeated batch changes nothing, as in the real ledger. */
let committed: Map<string, LeaseCommand>
let blobs: Map<string, Buffer>
let nextReceipt: object

beforeEach(async () => {
  troubles = []
  requests = []
  committed = new Map()
  blobs = new Map()
  nextReceipt = receipt
  server = await serve(async (request, response) => {
    const path = request.url ?? ''
    const { method = '', headers } = request
    requests.push({ method, path, authorization: headers.authorization ?? '', at: performance.now() })
    const body = await bodyOf(request)
    const blob = /\/blobs\/([0-9a-f]{64})\/(\d+)/.exec(path)
    if (path === commandsPath)
      for (const command of (JSON.parse(body.toString()) as Batch).commands) committed.set(command.id, command)
    const trouble = troubles.shift()
    if (trouble !== undefined) return trouble(request, response)
    if (path === commandsPath) {
      if (body.length > commandsLimitBytes) return problem(413, 'too_large')(request, response)
      return answer(response, 200, nextReceipt)
    }
    if (blob !== null && method === 'PUT') {
      blobs.set(`${blob[1]}/${blob[2]}`, body)
      return void response.writeHead(204).end()
    }
    if (blob !== null) {
      const part = blobs.get(`${blob[1]}/${blob[2]}`)
      if (part === undefined) return problem(404, 'not_found')(request, response)
      return void response.end(part)
    }
    return problem(404, 'not_found')(request, response)
  })
  ledger = make()
})
afterEach(async () => {
  await ledger.close()
  await server.close()
})

function make(options: { budgetMs?: number } = {}): Ledger {
  return remoteLedger({
    origin: server.origin,
    owner: 'own er',
    repo: 'repo',
    run: 'run-1',
    token: 'lease-token-1',
    fetch: ownFetch({ origins: [server.origin], environment: {} }),
    clock: { now: () => new Date() },
    backoffMs: 5,
    ...options,
  })
}

const problem =
  (status: number, code: string, detail = `detail of ${code}`, headers: Record<string, string> = {}): Trouble =>
  (_, response) =>
    answer(response, status, { type: 'about:blank', title: code, status, detail, code }, headers)
const plain =
  (status: number, headers: Record<string, string> = {}): Trouble =>
  (_, response) =>
    answer(response, status, '<html>', headers)
const reset: Trouble = request => void request.socket.destroy()

const renew = (id: string): LeaseCommand => ({ id, type: 'lease.renew' })
const batch = (...commands: LeaseCommand[]): Batch => ({ run: 'run-1', epoch: 3, commands })

async function fault(call: Promise<unknown>): Promise<LedgerError> {
  const thrown = await call.then(
    value => new Error(`answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(LedgerError)
  return thrown as LedgerError
}

describe('apply', () => {
  test('is one request and answers the receipt', async () => {
    expect(await ledger.apply(batch(renew('c1'), renew('c2')))).toEqual(receipt)
    expect(requests).toMatchObject([{ method: 'POST', path: commandsPath, authorization: 'Bearer lease-token-1' }])
    expect([...committed.keys()]).toEqual(['c1', 'c2'])
  })

  test('a token in a receipt replaces the lease token and does not reach the runner', async () => {
    nextReceipt = { ...receipt, token: 'lease-token-2' }
    expect(await ledger.apply(batch(renew('c1')))).toEqual(receipt)
    await ledger.apply(batch(renew('c2')))
    expect(requests.map(request => request.authorization)).toEqual(['Bearer lease-token-1', 'Bearer lease-token-2'])
  })

  test.each<[string, Trouble[]]>([
    ['503 twice', [problem(503, 'unavailable'), plain(503)]],
    ['500, 502, 504 from a proxy', [plain(500), plain(502), plain(504)]],
    ['locked', [problem(503, 'locked')]],
    ['429 without Retry-After', [plain(429)]],
    ['a connection reset after the commit', [reset, reset]],
  ])('%s, then ok: the same commands once', async (_, sequence) => {
    troubles = [...sequence]
    expect(await ledger.apply(batch(renew('c1')))).toEqual(receipt)
    expect(requests).toHaveLength(sequence.length + 1)
    expect([...committed.keys()]).toEqual(['c1'])
  })

  test('Retry-After is waited for', async () => {
    troubles = [plain(429, { 'retry-after': '1' })]
    await ledger.apply(batch(renew('c1')))
    const [first, second] = requests
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990)
  })

  test('a Retry-After beyond the budget ends at once, with what to do', async () => {
    troubles = [plain(503, { 'retry-after': '3600' })]
    const error = await fault(ledger.apply(batch(renew('c1'))))
    expect(error.code).toBe('unreachable')
    expect(error.message).toMatch(/re-run the job when the control plane is up/)
    expect(requests).toHaveLength(1)
  })

  test('a control plane that stays down ends within the budget', async () => {
    ledger = make({ budgetMs: 300 })
    troubles = Array.from({ length: 1000 }, () => plain(503))
    const started = performance.now()
    const error = await fault(ledger.apply(batch(renew('c1'))))
    expect(error.code).toBe('unreachable')
    expect(error.message).toMatch(/\d+ tries/)
    expect(performance.now() - started).toBeLessThan(2_000)
    expect(requests.length).toBeGreaterThan(2)
  })

  test('a server that is gone', async () => {
    ledger = make({ budgetMs: 100 })
    await server.close()
    const error = await fault(ledger.apply(batch(renew('c1'))))
    expect(error.code).toBe('unreachable')
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.message).not.toContain('lease-token')
    server = await serve((_, response) => answer(response, 200, {}))
  })

  test.each<[number, string, string]>([
    [409, 'stale_epoch', 'stale_epoch'],
    [409, 'lease_held', 'lease_held'],
    [409, 'conflict', 'conflict'],
    [409, 'something_new', 'conflict'],
    [401, 'unauthorised', 'unauthorised'],
    [401, 'token_expired', 'unauthorised'],
    [403, 'forbidden', 'unauthorised'],
    [404, 'not_found', 'not_found'],
    [400, 'invalid', 'invalid'],
    [413, 'too_large', 'invalid'],
    [503, 'full', 'full'],
    [503, 'read_only', 'read_only'],
    [500, 'corrupt', 'corrupt'],
    [500, 'newer', 'newer'],
  ])('%i %s is %s at once, in the words of the server', async (status, code, expected) => {
    troubles = [problem(status, code)]
    const error = await fault(ledger.apply(batch(renew('c1'))))
    expect(error.code).toBe(expected)
    expect(error.message).toContain(`detail of ${code}`)
    expect(requests).toHaveLength(1)
  })

  test('a redirect is refused and not repeated', async () => {
    troubles = [plain(307, { location: 'https://example.com/' })]
    const error = await fault(ledger.apply(batch(renew('c1'))))
    expect(error).toMatchObject({ code: 'unreachable' })
    expect(error.message).toContain('redirects are not followed')
    expect(requests).toHaveLength(1)
  })

  test.each([{}, { epoch: 3, head: 'short', cancelRequested: false }, '<html>'])(
    'an answer of another form: %j',
    async wrong => {
      nextReceipt = wrong as object
      expect(await fault(ledger.apply(batch(renew('c1'))))).toMatchObject({ code: 'invalid' })
    },
  )

  test('close ends the waiting', async () => {
    troubles = Array.from({ length: 100 }, () => plain(503, { 'retry-after': '30' }))
    const call = fault(ledger.apply(batch(renew('c1'))))
    while (requests.length === 0) await new Promise(resolve => setImmediate(resolve))
    const started = performance.now()
    await ledger.close()
    expect((await call).code).toBe('unreachable')
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  test('a batch above the cap sends its largest payloads as blobs first', async () => {
    const move = (id: string, text: string): LeaseCommand => ({
      id,
      type: 'task.move',
      task: id,
      attempt: 1,
      to: 'succeeded',
      output: { inline: { text } },
      error: null,
      condition: null,
      memory: null,
    })
    const large = Array.from({ length: 8 }, (_, index) => move(`t${index}`, String(index).repeat(60_000 + index)))
    const original = structuredClone(large)
    expect(await ledger.apply(batch(...large, move('small', 'x')))).toEqual(receipt)
    expect(large).toEqual(original)
    const outputs = [...committed.values()].map(command => (command.type === 'task.move' ? command.output : null))
    expect(outputs.at(-1)).toEqual({ inline: { text: 'x' } })
    const asBlobs = outputs.flatMap(output => (output !== null && 'blob' in output ? [output.blob] : []))
    expect(asBlobs.length).toBeGreaterThan(3)
    expect(asBlobs.length).toBeLessThan(8)
    for (const { sha256: name, bytes } of asBlobs) {
      const stored = blobs.get(`${name}/0`) ?? Buffer.alloc(0)
      expect([sha256(stored), stored.length]).toEqual([name, bytes])
    }
  })
})

describe('blobs', () => {
  test.each([0, 1, blobPartBytes - 1, blobPartBytes, blobPartBytes + 1, 5 * blobPartBytes + 17])(
    '%i bytes come back as they were, through a fault',
    async size => {
      const bytes = Buffer.alloc(size, 'agentctl-')
      troubles = [plain(503)]
      const ref = await ledger.putBlob(bytes)
      expect(ref).toEqual({ sha256: sha256(bytes), bytes: size })
      troubles = [reset]
      expect(Buffer.compare((await ledger.getBlob(ref.sha256)) ?? Buffer.from('none'), bytes)).toBe(0)
    },
  )

  test('an unknown blob is null', async () => {
    expect(await ledger.getBlob(head)).toBeNull()
  })

  test('bytes that are not the digest’s are refused', async () => {
    blobs.set(`${head}/0`, Buffer.from('something else'))
    const error = await fault(ledger.getBlob(head))
    expect(error.code).toBe('corrupt')
    expect(error.message).toContain(head)
  })
})

describe('snapshot', () => {
  test('an unknown run is null', async () => {
    expect(await ledger.snapshot('run-1')).toBeNull()
  })

  test('a body of another form names the member', async () => {
    troubles = [(_, response) => answer(response, 200, { record: { run: 1 } })]
    const error = await fault(ledger.snapshot('run-1'))
    expect(error.code).toBe('invalid')
    expect(error.message).toContain('record.run')
  })
})

test.each([
  [null, 0],
  ['0', 0],
  ['7', 7_000],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', 0],
  ['-5', 0],
])('Retry-After %j is %i ms', (header, expected) => {
  expect(retryAfter(header, new Date('2026-01-01T00:00:00Z'))).toBe(expected)
})
