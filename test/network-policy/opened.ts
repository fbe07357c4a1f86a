import { type NetworkPolicy, type Policy, policyDefaults } from '../../policy/decision/index.ts'
import { createRedactor } from '../../policy/redact.ts'
import {
  dnsResolver,
  type GuardedClient,
  type GuardedOptions,
  type GuardedRequest,
  guardedClient,
  type NetworkFault,
  type Resolver,
} from '../../runner/network/index.ts'

/** A policy that says only what a test is about. */
export function networkPolicy(
  hosts: string[],
  network: Partial<NetworkPolicy> = {},
  more: Partial<Policy> = {},
): Policy {
  return {
    ...policyDefaults,
    networkAllowlist: hosts,
    network: { ...policyDefaults.network, connectTimeoutSeconds: 2, ...network },
    ...more,
  }
}

/** The resolver that agentctl uses, asking a server of the test's: nothing of it is replaced. */
export function resolverAt(port: number): Resolver {
  return dnsResolver({ servers: [`127.0.0.1:${port}`] })
}

export function secretsOf(values: { [name: string]: string } = {}, hidden: string[] = []): GuardedOptions['secrets'] {
  return {
    redactor: createRedactor(hidden),
    read: async reference => ({ value: values['env' in reference ? reference.env : 'other'] }),
  }
}

/** The policy with this test authority as customCa, and the secrets that give it. */
export function trusting(policy: Policy, pem: string): [Policy, Partial<GuardedOptions>] {
  const network = { ...policy.network, customCa: { env: 'TEST_CA' } }
  return [{ ...policy, network, environmentAllowlist: ['TEST_CA'] }, { secrets: secretsOf({ TEST_CA: pem }) }]
}

const opened = new Set<GuardedClient>()

export async function open(policy: Policy, options: Partial<GuardedOptions> = {}): Promise<GuardedClient> {
  const result = await guardedClient(policy, { secrets: secretsOf(), environment: {}, ...options })
  if (!result.ok) throw new Error(result.fault.message)
  opened.add(result.client)
  return result.client
}

export async function closeAll(): Promise<void> {
  await Promise.all([...opened].map(client => client.close()))
  opened.clear()
}

export type Seen = { status: number; text: string } | { fault: NetworkFault }

/** One request and its whole body. */
export async function get(client: GuardedClient, url: string, more: Partial<GuardedRequest> = {}): Promise<Seen> {
  const result = await client.request({ url, deadlineMs: 10_000, ...more })
  if (!result.ok) return { fault: result.fault }
  const body = await result.response.read()
  if (!body.ok) return { fault: body.fault }
  return { status: result.response.status, text: Buffer.from(body.bytes).toString() }
}
