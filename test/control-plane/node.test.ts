import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unwrap } from '../../control-plane/problem.ts'
import { NodeRepositories } from '../../control-plane/repository/node.ts'
import { systemClock, systemIds } from '../../ledger/index.ts'
import { freePort } from '../harness/control-plane.ts'
import { configWith, leastEnvironment } from './settings.ts'

let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'agentctl-node-'))
})
afterEach(() => rmSync(data, { recursive: true, force: true }))

const query = { state: null, workflow: null, commit: null, actor: null, since: null, cursor: null, limit: 10 }

/** Ledgers that this process has open. */
const openLedgers = (): string[] => {
  const files = readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return [...new Set(files.filter(file => file.startsWith(data) && file.endsWith('.sqlite')))].sort()
}

describe('the repositories of one process', () => {
  const repositories = (atMost: number) =>
    new NodeRepositories({
      config: configWith(),
      clock: systemClock,
      ids: systemIds,
      fetch,
      log: { info() {}, error() {} },
      directory: {
        remember: async () => {},
        find: async () => null,
        update: async () => {},
        pending: async () => [],
        due: async () => [],
      },
      data,
      atMost,
    })

  it('keep at most so many ledgers open, and answer for more', async () => {
    const all = repositories(2)
    const pages = await Promise.all(Array.from({ length: 10 }, (_, id) => all.get(id + 1).runs(query)))
    expect(pages.map(page => unwrap(page).items)).toEqual(Array.from({ length: 10 }, () => []))
    expect(openLedgers()).toHaveLength(2)
    await all.close()
    expect(openLedgers()).toEqual([])
    expect(readdirSync(data).filter(name => name.endsWith('.sqlite'))).toHaveLength(10)
  })

  it('keep a ledger open as long as somebody reads from it', async () => {
    const all = repositories(1)
    const stream = unwrap(await all.get(1).exportAudit(null))
    let isDone = false
    const other = all
      .get(2)
      .runs(query)
      .then(page => {
        isDone = true
        return page
      })
    await all.get(1).runs(query)
    expect(isDone).toBe(false)
    expect(openLedgers()).toEqual([join(data, '1.sqlite')])
    expect(await new Response(stream).text()).toContain('ledger.created')
    expect((await other).ok).toBe(true)
    expect(openLedgers()).toEqual([join(data, '2.sqlite')])
    await all.close()
  })
})

describe('the Node entry', () => {
  const start = (environment: { [name: string]: string }) => {
    const child = spawn(process.execPath, [resolve('control-plane/server.ts')], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    child.stdout.on('data', chunk => (printed += chunk))
    child.stderr.on('data', chunk => (printed += chunk))
    return { child, printed: () => printed }
  }

  it('refuses to start without its configuration, and names it', async () => {
    const { child, printed } = start({})
    const [code] = await once(child, 'exit')
    expect(code).toBe(2)
    expect(printed()).toContain('does not start: ')
    for (const name of ['AGENTCTL_DATA', 'AGENTCTL_PUBLIC_URL', 'AGENTCTL_SESSION_KEY', 'GITHUB_WEBHOOK_SECRETS'])
      expect(printed()).toContain(`${name} is not set`)
  })

  it('refuses a directory that it may not use, and says why', async () => {
    const { child, printed } = start({
      ...leastEnvironment,
      AGENTCTL_DATA: '/dev/null/x',
      PORT: String(await freePort()),
    })
    const [code] = await once(child, 'exit')
    expect(code).toBe(5)
    expect(printed()).toMatch(/does not start: .*\/dev\/null\/x/)
  })

  it('says that its port is taken', async () => {
    const port = String(await freePort())
    const environment = { ...leastEnvironment, AGENTCTL_DATA: data, PORT: port }
    const first = start(environment)
    await started(first)
    const second = start({ ...environment, AGENTCTL_DATA: join(data, 'second') })
    const [code] = await once(second.child, 'exit')
    expect(code).toBe(5)
    expect(second.printed()).toContain(`does not start: port ${port} is taken`)
    first.child.kill('SIGTERM')
    expect(await once(first.child, 'exit')).toEqual([0, null])
  })

  it('ends at SIGTERM after the requests that it is serving, streams included, within its time', async () => {
    const port = await freePort()
    const server = start({ ...leastEnvironment, AGENTCTL_DATA: data, PORT: String(port) })
    await started(server)
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`)
    server.child.kill('SIGTERM')
    expect(await once(server.child, 'exit')).toEqual([0, null])
    expect(await answer.json()).toEqual({ status: 'ok' })
    expect(server.printed()).toContain('server.stopped')
  })

  async function started({ child, printed }: ReturnType<typeof start>): Promise<void> {
    while (!printed().includes('server.started')) {
      if (child.exitCode !== null) throw new Error(printed())
      await once(child.stderr, 'data')
    }
  }
})
