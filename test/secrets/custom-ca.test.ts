import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { policyValues } from '../../policy/decision/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { openHost } from '../../runner/host.ts'
import { guardedClient } from '../../runner/network/index.ts'
import { type LocalServer, serve } from '../network/server.ts'
import { authority } from '../network-policy/authority.ts'
import { type DnsServer, dnsServer } from '../network-policy/dns-server.ts'
import { get, resolverAt } from '../network-policy/opened.ts'
import { createScene, getFile, planOf, portsOf, putFile, type Scene } from '../runner/support.ts'

/** `network.customCa` through the door of every other secret. */
const root = authority('secrets test')
let web: LocalServer
let dns: DnsServer
let scene: Scene
beforeAll(async () => {
  dns = await dnsServer()
  dns.answers.set('a.test', ['127.0.0.1'])
  web = await serve((_, response) => response.end('served'), root.issue(['a.test']))
})
afterAll(async () => {
  await dns.close()
  await web.close()
})
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

/** What one request comes to under a policy whose customCa is the reference. */
async function trusting(customCa: JsonObject, policy: JsonObject = {}): Promise<string> {
  const plan = planOf({
    policy: {
      secretFileRoots: ['secrets'],
      secretProcessAllowlist: ['cat', 'sh'],
      networkAllowlist: ['a.test'],
      network: { allowPrivate: true, customCa },
      ...policy,
    },
    actions: { assign: { kind: 'builtin.assign' } },
    tasks: [{ id: 'a', uses: 'action:assign', with: { value: 1 } }],
  })
  const values = policyValues(plan.effectivePolicy)
  const { secrets } = openHost(portsOf(scene), plan, values, () => {})
  const opened = await guardedClient(values, { secrets, environment: {}, resolver: resolverAt(dns.port) })
  if (!opened.ok) return `${opened.fault.exitCode} ${opened.fault.message}`
  const seen = await get(opened.client, `https://a.test:${web.port}/`)
  await opened.client.close()
  return 'text' in seen ? seen.text : seen.fault.rule
}

test('by {file} and by {process}', async () => {
  putFile(scene, 'secrets/ca.pem', root.pem)
  expect(await trusting({ file: 'secrets/ca.pem' })).toBe('served')
  expect(await trusting({ process: { command: '/bin/cat', args: ['secrets/ca.pem'] } })).toBe('served')
})

test('refused by the rule of its source, which is named', async () => {
  putFile(scene, 'secrets/ca.pem', root.pem)
  putFile(scene, 'elsewhere.pem', root.pem)
  expect(await trusting({ file: 'elsewhere.pem' })).toMatch(
    /^3 secretFileRoots refuses customCa \{file: elsewhere\.pem\}/,
  )
  expect(await trusting({ file: 'secrets/absent' })).toMatch(/^3 not_found refuses .*put the file there/)
  const touching = { process: { command: '/bin/sh', args: ['-c', 'touch ran'] } }
  const refused = await trusting(touching, { secretProcessAllowlist: ['/opt/none'] })
  expect(refused).toMatch(/^3 secretProcessAllowlist refuses customCa \{process: \/bin\/sh\}/)
  expect(getFile(scene, 'ran')).toBeNull()
  const failing = await trusting({ process: { command: '/bin/sh', args: ['-c', 'echo leaked; exit 3'] } })
  expect(failing).toMatch(/^3 secret_helper_failed .*exited with code 3/)
  expect(failing).not.toContain('leaked')
  putFile(scene, 'secrets/ca.pem', 'no certificate')
  expect(await trusting({ file: 'secrets/ca.pem' })).toMatch(/^3 network\.customCa refuses/)
})
