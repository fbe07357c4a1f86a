import { describe, expect, it } from 'vitest'
import { operations } from '../../control-plane/app.ts'
import { cachedDirectory } from '../../control-plane/directory/cached.ts'
import type { Directory } from '../../control-plane/directory/directory.ts'
import { directoryOver } from '../../control-plane/directory/over-tables.ts'
import { DirectoryTables } from '../../control-plane/directory/tables.ts'
import { processLimiter } from '../../control-plane/limiter.ts'
import { processMetrics } from '../../control-plane/metrics.ts'
import { exportStream } from '../../control-plane/repository/export.ts'
import { allowsWorkflow } from '../../control-plane/repository/floor.ts'
import { signHead } from '../../control-plane/repository/head.ts'
import { ProvedNames } from '../../control-plane/repository/names.ts'
import { readBytes } from '../../control-plane/routes/body.ts'
import { requestsPerMinute } from '../../control-plane/routes/limits.ts'
import { openApi } from '../../control-plane/routes/openapi.ts'
import { openNodeSql } from '../../ledger/index.ts'
import { canonical } from '../../policy/canonical.ts'
import { floorSchema } from '../../policy/decision/index.ts'
import { SetClock } from './settings.ts'

describe('the directory', () => {
  const directory = () => new DirectoryTables(openNodeSql(':memory:'))

  it('finds by any case, by old names too, and by whoever proved a name last', () => {
    const tables = directory()
    tables.remember({ id: 1, owner: 'Octo', name: 'App' })
    expect(tables.find('octo', 'APP')).toEqual({ id: 1, owner: 'Octo', name: 'App' })
    tables.remember({ id: 1, owner: 'Octo', name: 'Renamed' })
    expect(tables.find('Octo', 'App')).toEqual({ id: 1, owner: 'Octo', name: 'Renamed' })
    tables.remember({ id: 2, owner: 'Octo', name: 'App' })
    expect(tables.find('Octo', 'App')?.id).toBe(2)
    expect(tables.find('Octo', 'Renamed')?.id).toBe(1)
    expect(tables.find('Octo', 'None')).toBeNull()
  })

  it('tells what is pending in pages and what is due', () => {
    const tables = directory()
    for (const id of [1, 2, 3]) tables.remember({ id, owner: 'o', name: `r${id}` })
    tables.update(1, { openPauses: 1, due: '2026-01-02T00:00:00.000Z' })
    tables.update(3, { openPauses: 2, due: '2026-01-01T00:00:00.000Z' })
    expect(tables.pending(0, 1).map(({ id }) => id)).toEqual([1])
    expect(tables.pending(1, 10).map(({ id }) => id)).toEqual([3])
    expect(tables.due('2026-01-01T12:00:00.000Z')).toEqual([3])
    expect(tables.scheduled().map(({ id }) => id)).toEqual([3, 1])
    tables.update(3, { openPauses: 0, due: null })
    expect(tables.due('2027-01-01T00:00:00.000Z')).toEqual([1])
  })

  it('is asked once a minute for a name, but told every new one', async () => {
    const clock = new SetClock()
    const tables = directory()
    let finds = 0
    const over = directoryOver(tables)
    const counted: Directory = {
      ...over,
      find(owner, name) {
        finds += 1
        return over.find(owner, name)
      },
    }
    const cached = cachedDirectory(counted, clock)
    expect(await cached.find('o', 'a')).toBeNull()
    await cached.remember({ id: 1, owner: 'o', name: 'a' })
    expect((await cached.find('O', 'A'))?.id).toBe(1)
    await cached.remember({ id: 2, owner: 'o', name: 'a' })
    expect((await cached.find('o', 'a'))?.id).toBe(2)
    expect(finds).toBe(1)
    clock.advance(61)
    tables.remember({ id: 3, owner: 'o', name: 'a' })
    expect((await cached.find('o', 'a'))?.id).toBe(3)
  })
})

describe('proved names', () => {
  it('know the last one and take each of them off a workflow ref', () => {
    const clock = new SetClock()
    const names = new ProvedNames(openNodeSql(':memory:'), 7)
    expect(names.current()).toBeNull()
    expect(names.prove('o', 'a', clock.now())).toBe(true)
    expect(names.prove('o', 'a', clock.now())).toBe(false)
    clock.advance(1)
    expect(names.prove('o', 'b', clock.now())).toBe(true)
    expect(names.current()).toEqual({ id: 7, owner: 'o', name: 'b' })
    const refs = ['o/a/w.yml@refs/heads/main', 'O/B/w.yml@refs/heads/main', 'x/a/w.yml@refs/heads/main']
    expect(refs.map(ref => names.ownWorkflow(ref))).toEqual([
      'w.yml@refs/heads/main',
      'w.yml@refs/heads/main',
      'x/a/w.yml@refs/heads/main',
    ])
    clock.advance(1)
    names.prove('o', 'a', clock.now())
    expect(names.current()?.name).toBe('a')
  })
})

describe('the limiter', () => {
  it('lets a minute’s worth through at once, then as fast as it refills, each caller for itself', async () => {
    const clock = new SetClock()
    const limiter = processLimiter(clock)
    const size = requestsPerMinute.person
    const let_ = async (key: string, times: number) => {
      let passed = 0
      for (let count = 0; count < times; count++) if (await limiter.allow('person', key)) passed++
      return passed
    }
    expect(await let_('a', size + 5)).toBe(size)
    expect(await let_('b', 1)).toBe(1)
    clock.advance(6)
    expect(await let_('a', size)).toBe(size / 10)
    clock.advance(-3600)
    expect(await let_('a', 5)).toBe(0)
  })
})

describe('request bodies', () => {
  const streamed = (chunks: number, bytes: number, onPull: () => void) => {
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        onPull()
        if (sent++ === chunks) controller.close()
        else controller.enqueue(new Uint8Array(bytes))
      },
    })
    return new Request('http://x/', { method: 'POST', body, duplex: 'half' } as RequestInit)
  }

  it('are refused before a byte is read where they are declared too large', async () => {
    const request = new Request('http://x/', { method: 'POST', body: 'x', headers: { 'content-length': '11' } })
    await expect(readBytes(request, 10)).rejects.toMatchObject({ refusal: { status: 413 } })
    expect(request.bodyUsed).toBe(false)
  })

  it('are refused while they are read where they were not declared', async () => {
    let pulls = 0
    const request = streamed(1_000_000, 1000, () => pulls++)
    await expect(readBytes(request, 5000)).rejects.toMatchObject({ refusal: { status: 413 } })
    expect(pulls).toBeLessThan(12)
    expect(
      await readBytes(
        streamed(5, 1000, () => {}),
        5000,
      ),
    ).toHaveLength(5000)
  })
})

describe('an export', () => {
  it('is read only as fast as it is taken, and gives back what it holds', async () => {
    let read = 0
    let released = 0
    function* lines() {
      for (; read < 100_000; read++) yield `line ${read} ${'x'.repeat(100)}`
    }
    const reader = exportStream(lines(), () => released++).getReader()
    await reader.read()
    expect(read).toBeLessThan(2000)
    await reader.cancel()
    expect(released).toBe(1)
  })

  it('ends every line and is whole', async () => {
    let released = 0
    const text = await new Response(exportStream(['a', 'b\n', 'c'], () => released++)).text()
    expect(text).toBe('a\nb\nc\n')
    expect(released).toBe(1)
    expect(await new Response(exportStream([], () => released++)).text()).toBe('')
  })
})

describe('a chain head', () => {
  it('carries a signature that the key’s public half verifies', async () => {
    const { privateKey } = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as CryptoKeyPair
    const der = new Uint8Array(await crypto.subtle.exportKey('pkcs8', privateKey))
    const pem = `-----BEGIN PRIVATE KEY-----\n${btoa(String.fromCharCode(...der))}\n-----END PRIVATE KEY-----`
    const head = { ledger: '7', chain: 'ledger', seq: 3, head: 'a'.repeat(64) }
    const signed = await signHead(pem, head)
    const bytes = (text: string | null) => Uint8Array.from(atob(text ?? ''), char => char.charCodeAt(0))
    const key = await crypto.subtle.importKey('raw', bytes(signed.publicKey), 'Ed25519', true, ['verify'])
    const verify = (value: object) =>
      crypto.subtle.verify('Ed25519', key, bytes(signed.signature), new TextEncoder().encode(canonical({ ...value })))
    expect(await verify(head)).toBe(true)
    expect(await verify({ ...head, seq: 4 })).toBe(false)
    expect(await signHead(null, head)).toEqual({ ...head, signature: null, publicKey: null })
  })
})

describe('allowedWorkflowRefs', () => {
  const ref = 'octo/app/.github/workflows/release.yml@refs/heads/main'
  const cases: [allowed: string[] | undefined, isAllowed: boolean][] = [
    [undefined, true],
    [[], false],
    [[ref], true],
    [['octo/app/*'], true],
    [['*'], true],
    [['octo/*@refs/heads/main'], true],
    [['octo/*/release.yml@*'], true],
    [['octo/app/.github/workflows/release.yml'], false],
    [['octo/app/.github/workflows/release.yml@refs/heads/*'], true],
    [['octo/app/.github/workflows/release.yml@refs/tags/*'], false],
    [['cto/app/*'], false],
    [[`${ref}*${ref}`], false],
    [['.*'], false],
    [['octo/app/.github/workflows/release.yml@refs/heads/mai*ain'], false],
  ]
  it.each(cases)('%j', (allowedWorkflowRefs, isAllowed) => {
    const floor = floorSchema.parse(allowedWorkflowRefs === undefined ? {} : { allowedWorkflowRefs })
    expect(allowsWorkflow(floor, ref)).toBe(isAllowed)
    expect(allowsWorkflow(null, ref)).toBe(true)
  })
})

describe('the description of the API', () => {
  it('tells every operation with its parameters, proof and refusals', () => {
    const { paths } = openApi(operations, 'https://x.example') as unknown as {
      paths: {
        [path: string]: {
          [method: string]: { parameters: { name: string; in: string }[]; security: object[]; responses: object }
        }
      }
    }
    for (const operation of operations) {
      const described = paths[operation.path]?.[operation.method]
      const inPath = described?.parameters.filter(parameter => parameter.in === 'path').map(({ name }) => name)
      expect(inPath).toEqual([...operation.path.matchAll(/\{(\w+)\}/g)].map(match => match[1]))
      expect(described?.security).toHaveLength(
        operation.caller === 'anyone' ? 0 : operation.caller.split(' or ').length,
      )
      expect(Object.keys(described?.responses ?? {}).some(status => status.startsWith('2'))).toBe(true)
    }
    const runs = paths['/v1/repos/{owner}/{repo}/runs']?.['get']
    expect(runs?.parameters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['cursor', 'limit', 'state', 'since']),
    )
  })
})

describe('metrics', () => {
  it('count by route and stay in order', () => {
    const metrics = processMetrics()
    metrics.observe('GET', '/a', 200, 0.02)
    metrics.observe('GET', '/a', 200, 3)
    const text = metrics.render()
    expect(text).toContain('agentctl_http_requests_total{method="GET",route="/a",status="200"} 2')
    expect(text).toContain('agentctl_http_request_seconds_bucket{method="GET",route="/a",le="0.025"} 1')
    expect(text).toContain('agentctl_http_request_seconds_bucket{method="GET",route="/a",le="+Inf"} 2')
  })
})
