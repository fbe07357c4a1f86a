import { describe, expect, it } from 'vitest'
import { hostRuleMatches, normalizeHost, normalizeHostRule } from '../../policy/decision/index.ts'

function matches(rule: string, host: string): boolean {
  const normal = normalizeHostRule(rule)
  const target = normalizeHost(host)
  return normal.ok && target.ok && hostRuleMatches(normal.host, target.host)
}

describe('host rules', () => {
  it.each([
    ['API.Example.com', 'api.example.com', true],
    ['example.com.', 'example.com', true],
    ['example.com', 'EXAMPLE.com.', true],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'aexample.com', false],
    ['*.example.com', 'longer-lookalikeexample.com', false],
    ['*.example.com', '.example.com', false],
    ['*.example.com', 'a.example.com.evil', false],
    ['example.com', 'a.example.com', false],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['*.BÜCHER.example', 'a.xn--bcher-kva.example', true],
    ['127.0.0.1', '0x7f.1', true],
    ['127.0.0.1', '2130706433', true],
    ['127.0.0.1', '0177.0.0.1', true],
    ['::1', '[0:0:0:0:0:0:0:1]', true],
    ['[::ffff:169.254.169.254]', '::ffff:a9fe:a9fe', true],
    ['[::ffff:169.254.169.254]', '169.254.169.254', false],
  ])('%s against %s: %s', (rule, host, expected) => {
    expect(matches(rule, host)).toBe(expected)
  })

  it.each([
    '',
    '*',
    '*.',
    '*.*.com',
    'a.*.com',
    '%2A.example.com',
    'https://example.com',
    'example.com/',
    'user@example.com',
    'example.com:443',
    'a b',
    'a..b',
    '.',
    '*.127.0.0.1',
    '*.[::1]',
    '[::1',
    'a\\b',
    'a?b',
    'a#b',
    '\u0000',
  ])('refuses the rule %j', rule => {
    const result = normalizeHostRule(rule)
    expect(result).toMatchObject({ ok: false, message: expect.stringMatching(/\w/) })
  })
})
