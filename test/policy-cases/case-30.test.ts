import { describe, expect, test } from 'vitest'
import {
  compileHostRules,
  judgeAnswer,
  judgeTarget,
  type NetworkRules,
  normalizeHostRule,
  parseTarget,
  policyDefaults,
  policySchema,
} from '../../policy/decision/index.ts'

describe('case 30: host rules', () => {
  const rules = (hosts: string[], network = {}): NetworkRules => ({
    hosts: compileHostRules(hosts),
    network: { ...policyDefaults.network, ...network },
  })
  const allows = (hosts: string[], url: string, network = {}): boolean => {
    const parsed = parseTarget(url)
    return parsed.ok && judgeTarget(rules(hosts, network), parsed.target) === null
  }

  test.each<[string, string, boolean]>([
    ['API.Example.com', 'https://api.example.com/', true],
    ['api.example.com', 'https://API.Example.COM/', true],
    ['example.com.', 'https://example.com/', true],
    ['example.com', 'https://example.com./', true],
    ['*.example.com', 'https://example.com/', false],
    ['*.example.com', 'https://aexample.com/', false],
    ['*.example.com', 'https://a.example.com/', true],
    ['*.example.com', 'https://a.example.com.evil.test/', false],
    ['example.com', 'https://%65xample.com/', true],
    ['example.com', 'https://user@example.com/', false],
    ['example.com', 'https://example.com@evil.test/', false],
    ['127.0.0.1', 'http://0x7f.1/', true],
    ['127.0.0.1', 'http://2130706433/', true],
    ['127.0.0.1', 'http://0177.0.0.01/', true],
    ['169.254.169.254', 'http://[::ffff:169.254.169.254]/', false],
    ['bücher.example', 'https://xn--bcher-kva.example/', true],
    ['bücher.example', 'https://BÜCHER.example/', true],
  ])('rule %s, %s: %s', (rule, url, isAllowed) => {
    expect(allows([rule], url)).toBe(isAllowed)
  })

  test.each([
    'https://example.com',
    'example.com/path',
    'example.com:443',
    '%2A.example.com',
    '*',
    '*.*',
    'a.*.com',
    '*example.com',
    'user@example.com',
    '',
    ' ',
  ])('%j where a host is wanted is refused by name, and allows nothing', rule => {
    expect(normalizeHostRule(rule)).toMatchObject({ ok: false, message: expect.stringMatching(/\w{4}/) })
    expect(policySchema.safeParse({ networkAllowlist: [rule] }).success).toBe(false)
    expect(allows([rule], 'https://example.com/')).toBe(false)
  })

  test.each<[string, string[], boolean]>([
    ['only public addresses', ['93.184.216.34', '2606:2800:220:1::34'], true],
    ['a public and a private one', ['93.184.216.34', '10.0.0.1'], false],
    ['a public and a mapped link-local one', ['93.184.216.34', '::ffff:169.254.169.254'], false],
    ['a public one and that of the metadata service in NAT64', ['93.184.216.34', '64:ff9b::a9fe:a9fe'], false],
    ['none', [], false],
  ])('a name that resolves to %s', (_, addresses, isAllowed) => {
    const refused = judgeAnswer(policyDefaults.network, 'https://example.com:443', addresses)
    expect(refused === null).toBe(isAllowed)
    if (refused !== null && addresses.length > 0) expect(refused.change).toContain('allowPrivate')
  })
})
