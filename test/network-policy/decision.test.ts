import { describe, expect, it } from 'vitest'
import { decide, type Facts, type NetworkFact, type NetworkPolicy, type Policy } from '../../policy/decision/index.ts'
import { decided, defaultOrigins, policy, writeEffect } from '../decision/questions.ts'
import { networkPolicy } from './opened.ts'

const effect = {
  ...writeEffect,
  operation: 'mcp.call',
  tool: 'mcp.search',
  capabilities: [],
  effectClass: 'external_mutate' as const,
  input: {},
}
const target = { scheme: 'https', host: 'api.test', port: 443 }
const proxy = { target: { scheme: 'http', host: 'proxy.test', port: 3128 }, addresses: ['9.9.9.9'] }

function known(change: object = {}): Facts {
  const fact: NetworkFact = { known: true, target, addresses: ['93.184.216.34'], proxy: null, ...change }
  return { kind: 'network', network: fact }
}

function change(network: Partial<NetworkPolicy> = {}, hosts = ['api.test']): Partial<Policy> {
  const { networkAllowlist, network: whole } = networkPolicy(hosts, network)
  return { networkAllowlist, network: whole }
}

describe('the resource step about a host', () => {
  it('allows what scheme, host, port and every address allow', () => {
    const decision = decided(effect, known(), change())
    expect(decision.outcome).toBe('allow')
    expect(decision.steps[2]).toMatchObject({ step: 'resource', rule: 'networkAllowlist', subject: 'https://api.test' })
  })

  it.each(['external_mutate', 'remote_agent', 'model', 'observe'] as const)('is asked for %s', effectClass => {
    const asked = { ...effect, effectClass, input: { provider: 'p' } }
    expect(decided(asked, known(), change()).outcome).toBe('allow')
    expect(decided(asked, known(), change({}, [])).steps.at(-1)).toMatchObject({ rule: 'networkAllowlist' })
  })

  it.each(['external_mutate', 'remote_agent', 'model'] as const)('%s without a fact is denied', effectClass => {
    const decision = decided({ ...effect, effectClass, input: { provider: 'p' } }, { kind: 'none' }, change())
    expect(decision.outcome).toBe('deny')
    expect(decision.steps.at(-1)).toMatchObject({ step: 'resource', rule: 'missing_facts' })
  })

  it('facts of a host do not answer for a process or a file', () => {
    for (const effectClass of ['process_execution', 'workspace_mutate', 'pure', 'internal_state'] as const)
      expect(decided({ ...effect, effectClass }, known(), change()).outcome).toBe('deny')
    expect(decided({ ...effect, effectClass: 'observe', tool: 'filesystem.read' }, known(), change()).outcome).toBe(
      'deny',
    )
  })

  it.each([
    [known(), change({}, ['*.api.test']), 'networkAllowlist', 'https://api.test', 'add `api.test`'],
    [known(), change({ allowedSchemes: ['http'] }), 'network.allowedSchemes', 'https://api.test', 'add `https`'],
    [known(), change({ allowedPorts: [80] }), 'network.allowedPorts', 'https://api.test', 'add 443'],
    [
      known({ addresses: ['10.0.0.1'] }),
      change(),
      'network.allowPrivate',
      'https://api.test',
      'set allowPrivate to true',
    ],
    [
      known({ addresses: ['93.184.216.34', '::1'] }),
      change(),
      'network.allowPrivate',
      'https://api.test',
      'allowPrivate',
    ],
    [known({ addresses: [] }), change(), 'empty_answer', 'https://api.test', 'its records in DNS'],
    [known({ addresses: ['x'] }), change(), 'unknown_address', 'https://api.test', 'resolver'],
    [known({ proxy }), change(), 'network.allowProxy', 'the proxy http://proxy.test:3128', 'set allowProxy to true'],
    [
      known({ proxy: { ...proxy, addresses: ['10.0.0.9'] } }),
      change({ allowProxy: true }),
      'network.allowPrivate',
      'the proxy http://proxy.test:3128',
      'set allowPrivate to true',
    ],
    [
      known({ proxy: { ...proxy, addresses: [] } }),
      change({ allowProxy: true }),
      'empty_answer',
      'the proxy http://proxy.test:3128',
      'correct the name',
    ],
  ] as [Facts, Partial<Policy>, string, string, string][])(
    'refusal %# names rule, subject and remedy',
    (facts, given, rule, subject, remedy) => {
      const decision = decided(effect, facts, given)
      expect(decision.outcome).toBe('deny')
      expect(decision.steps.at(-1)).toMatchObject({ step: 'resource', rule, subject })
      expect(decision.steps.at(-1)?.remedy).toContain(remedy)
      for (const part of [rule, subject, remedy]) expect(decision.reason).toContain(part)
    },
  )

  it('allows a proxy with public addresses where the policy says so', () => {
    expect(decided(effect, known({ proxy }), change({ allowProxy: true })).outcome).toBe('allow')
  })

  it.each([
    ['userinfo', 'remove what stands before `@`'],
    ['malformed_url', 'absolute URL'],
    ['malformed_host', 'host name'],
    ['unknown_scheme', 'https'],
    ['dns_not_found', 'add it to DNS'],
    ['dns_timeout', 'connectTimeoutSeconds'],
    ['dns_failed', 'resolver'],
    ['proxy_variable', 'proxy variable'],
    ['something_new', 'resolvable'],
  ])('an unknown fact, %s, is denied with a remedy', (cause, remedy) => {
    const facts: Facts = { kind: 'network', network: { known: false, cause, detail: 'it is so' } }
    const decision = decided(effect, facts, change())
    expect(decision.outcome).toBe('deny')
    expect(decision.steps.at(-1)).toMatchObject({ step: 'resource', rule: cause, subject: 'mcp.call' })
    expect(decision.reason).toContain('it is so')
    expect(decision.reason).toContain(remedy)
  })

  it('says who set the rule', () => {
    const given = policy(change({ allowPrivate: false }))
    const origins = { ...defaultOrigins, network: 'floor' as const }
    const decision = decide({
      effect,
      facts: known({ addresses: ['10.0.0.1'] }),
      policy: given,
      origins,
      canPause: false,
    })
    expect(decision.reason).toContain('the installed floor sets policy.network')
  })

  it('no approval overrides a refusal', () => {
    const asking = { ...change({}, []), approval: 'always' as const }
    expect(decided(effect, known(), asking).outcome).toBe('deny')
  })
})
