import { getCACertificates } from 'node:tls'
import { guardedClient } from '../../runner/network/index.ts'
import { get, networkPolicy, resolverAt, secretsOf, trusting } from './opened.ts'

/**
 * One guarded request with this process' own environment, `node request-once.ts URL DNS_PORT [own|custom]`: prints what was
 * seen as JSON. `own` asks Node for the platform's authorities first, as agentctl's own calls do; `custom` takes customCa
 * from TEST_CA.
 */
const [url = '', port = '', mode = ''] = process.argv.slice(2)
if (mode === 'own') getCACertificates('system')
const plain = networkPolicy(['*.test'], { allowPrivate: true })
const [policy, options] =
  mode === 'custom' ? trusting(plain, process.env['TEST_CA'] ?? '') : [plain, { secrets: secretsOf() }]
const secrets = options.secrets ?? secretsOf()
const opened = await guardedClient(policy, { secrets, environment: process.env, resolver: resolverAt(Number(port)) })
if (!opened.ok) throw new Error(opened.fault.message)
console.log(JSON.stringify(await get(opened.client, url)))
await opened.client.close()
