import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'

const execute = promisify(execFile)
const asRoot = process.getuid?.() === 0
const namespaces = [...(asRoot ? [] : ['--user', '--map-root-user']), '--mount', '--net']

/** Linux, with `unshare`, `ip` and `mount`, as root or where users may make namespaces. In CI it must be possible. */
const isPossible = await execute('unshare', [...namespaces, 'sh', '-c', 'ip link set lo up && mount --version']).then(
  () => true,
  () => false,
)
if (!isPossible) console.warn('unproven here: the platform resolver and public addresses (no network namespace)')

let seen: { [name: string]: unknown } = {}

describe.runIf(isPossible || process.env['CI'] === 'true')(
  "the platform's own resolver and authorities, and public addresses",
  () => {
    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'agentctl-namespace-'))
      const script = join(import.meta.dirname, 'inside-namespace.ts')
      try {
        const args = [...namespaces, process.execPath, script, folder]
        const { stdout } = await execute('unshare', args, { env: { PATH: process.env['PATH'] }, timeout: 100_000 })
        seen = JSON.parse(stdout)
      } finally {
        await rm(folder, { recursive: true })
      }
    })

    const answered = (address: string) => ({ status: 200, text: `answer of ${address}` })
    const refused = { fault: { code: 'refused', rule: 'network.allowPrivate', exitCode: 3, dispatched: false } }

    test.each([
      ['good', '93.184.216.34'],
      ['six', '2606:2800:220:1::34'],
      ['pinned', '93.184.216.34'],
    ])('%s is reached at its public address, with the platform as authority', (name, address) => {
      expect(seen[name]).toEqual({ seen: answered(address), touched: [address] })
    })

    test.each(['mixed', 'mixed6', 'metadata'])('%s is refused whole, and nothing is connected', name => {
      expect(seen[name]).toMatchObject({ seen: refused, touched: [] })
    })

    test('localhost is what the platform says, and refused', () => {
      expect(seen['localhost']).toMatchObject(refused)
    })

    test('a name that nobody knows is a DNS failure, whatever the search list would make of it', () => {
      expect(seen['gone']).toMatchObject({ seen: { fault: { code: 'dns', rule: 'dns_not_found', exitCode: 6 } } })
    })

    test('customCa adds to the platform, and nothing else does', () => {
      expect(seen['customWithout']).toMatchObject({ fault: { code: 'tls', exitCode: 6 } })
      expect(seen['customWith']).toEqual(answered('93.184.216.35'))
      expect(seen['platformToo']).toEqual(answered('93.184.216.34'))
    })

    test('a name that changes its answer between two look-ups', () => {
      const first = { seen: answered('93.184.216.34') }
      expect(seen['rebindFact']).toEqual({ ...first, touched: ['93.184.216.34'] })
      expect(seen['rebindNew']).toMatchObject({ seen: refused, touched: [] })
      expect(seen['rebindFactAgain']).toMatchObject(first)
    })

    test('a proxy is told the checked address', () => {
      expect(seen['proxied']).toEqual(answered('93.184.216.34'))
      expect(seen['proxyHeads']).toEqual(['93.184.216.34:443'])
    })

    test('a silent resolver ends at connectTimeoutSeconds, and does not hold the process', () => {
      expect(seen['silent']).toMatchObject({ fault: { code: 'dns', rule: 'dns_timeout', exitCode: 6 } })
      expect(seen['silentMilliseconds']).toBeGreaterThan(950)
      expect(seen['silentMilliseconds']).toBeLessThan(4_000)
    })
  },
)
