import { BlockList, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addressText,
  classify,
  compileHostRules,
  effectivePolicy,
  type Floor,
  judgeAnswer,
  judgeNetwork,
  judgeTarget,
  meetFloors,
  type NetworkPolicy,
  type NetworkRules,
  parseAddress,
  parseTarget,
  policyDefaults,
  policyValues,
  sortAddresses,
  type WrittenPolicy,
} from '../../policy/decision/index.ts'
import { floors } from '../decision/arbitraries.ts'

function rules(hosts: string[], network: Partial<NetworkPolicy> = {}): NetworkRules {
  return { hosts: compileHostRules(hosts), network: { ...policyDefaults.network, ...network } }
}

/** Name of the rule that refuses a URL before anything is looked up, null where it passes. */
function refusedBy(url: string, given: NetworkRules): string | null {
  const parsed = parseTarget(url)
  return parsed.ok ? (judgeTarget(given, parsed.target)?.rule ?? null) : parsed.cause
}

describe('a URL is read strictly', () => {
  it.each([
    ['https://example.com', 'https', 'example.com', 443, '/'],
    ['http://example.com', 'http', 'example.com', 80, '/'],
    ['HTTPS://Example.COM:443/a?b=c#d', 'https', 'example.com', 443, '/a?b=c'],
    ['https://example.com:8443/', 'https', 'example.com', 8443, '/'],
    ['http://example.com:443/', 'http', 'example.com', 443, '/'],
    ['https://example.com./x', 'https', 'example.com', 443, '/x'],
    ['https://ex%61mple.com/', 'https', 'example.com', 443, '/'],
    ['https://bücher.example/', 'https', 'xn--bcher-kva.example', 443, '/'],
    ['https://0x7f.1/', 'https', '127.0.0.1', 443, '/'],
    ['https://2130706433/', 'https', '127.0.0.1', 443, '/'],
    ['https://0177.0.0.1/', 'https', '127.0.0.1', 443, '/'],
    ['https://127.1/', 'https', '127.0.0.1', 443, '/'],
    ['https://１２７.０.０.１/', 'https', '127.0.0.1', 443, '/'],
    ['https://127。0。0。1/', 'https', '127.0.0.1', 443, '/'],
    ['https://%31%32%37.0.0.1/', 'https', '127.0.0.1', 443, '/'],
    ['https://[::FFFF:169.254.169.254]/', 'https', '[::ffff:a9fe:a9fe]', 443, '/'],
    ['https://[0:0:0:0:0:0:0:1]:99/', 'https', '[::1]', 99, '/'],
    ['https://example.com/@path', 'https', 'example.com', 443, '/@path'],
  ])('%s', (url, scheme, host, port, path) => {
    expect(parseTarget(url)).toEqual({ ok: true, target: { scheme, host, port }, path })
  })

  it.each([
    ['', 'malformed_url'],
    ['example.com', 'malformed_url'],
    ['//example.com/', 'malformed_url'],
    ['/path', 'malformed_url'],
    ['https:example.com', 'malformed_url'],
    ['https:/example.com', 'malformed_url'],
    ['https:///example.com', 'malformed_url'],
    ['https://', 'malformed_url'],
    [' https://example.com', 'malformed_url'],
    ['https://example.com/a b', 'malformed_url'],
    ['https://exa\tmple.com/', 'malformed_url'],
    ['https://example.com/\n', 'malformed_url'],
    ['https:\\\\example.com', 'malformed_url'],
    ['https://example.com\\@evil.example/', 'malformed_url'],
    ['https://example.com:99999/', 'malformed_url'],
    ['https://[::1/', 'malformed_url'],
    ['https://[fe80::1%25eth0]/', 'malformed_url'],
    ['https://256.1.1.1/', 'malformed_url'],
    ['https://1.2.3.4.5/', 'malformed_url'],
    ['https://user@example.com/', 'userinfo'],
    ['https://user:pass@example.com/', 'userinfo'],
    ['https://@example.com/', 'userinfo'],
    ['https://:@example.com/', 'userinfo'],
    ['https://example.com@evil.example/', 'userinfo'],
    ['https://%2A.example.com/', 'malformed_host'],
    ['https://*.example.com/', 'malformed_host'],
    ['https://a..example.com/', 'malformed_host'],
    ['https://example.com../', 'malformed_host'],
    ['https://./', 'malformed_host'],
    ['https://exam!ple.com/', 'malformed_host'],
    [`https://${'a'.repeat(64)}.com/`, 'malformed_host'],
    [`https://${'abcdefgh.'.repeat(29)}com/`, 'malformed_host'],
    ['ftp://example.com/', 'unknown_scheme'],
    ['ws://example.com/', 'unknown_scheme'],
    ['file://example.com/etc/passwd', 'unknown_scheme'],
    ['unix://run/docker.sock', 'unknown_scheme'],
    ['http+unix://%2Frun%2Fdocker.sock/v1', 'unknown_scheme'],
    ['https://example.com:0/', 'port_zero'],
  ])('refuses %j as %s', (url, cause) => {
    expect(parseTarget(url)).toMatchObject({ ok: false, cause, detail: expect.stringMatching(/\w{2}/) })
  })

  it('repeats no credentials in a refusal', () => {
    const parsed = parseTarget('https://user:hunter22@example.com/?key=hunter22')
    expect(JSON.stringify(parsed)).not.toContain('hunter22')
  })
})

describe('scheme, host and port of the policy (public reports, case 30)', () => {
  const one = rules(['API.Example.com', '*.sub.example.com', '127.0.0.1', 'example.org.'])
  it.each([
    ['https://api.example.com/', one, null],
    ['https://API.EXAMPLE.COM./', one, null],
    ['https://api%2Eexample.com/', one, null],
    ['https://example.org/', one, null],
    ['https://a.sub.example.com/', one, null],
    ['https://a.b.sub.example.com/', one, null],
    ['https://0x7f000001/', one, null],
    ['https://sub.example.com/', one, 'networkAllowlist'],
    ['https://asub.example.com/', one, 'networkAllowlist'],
    ['https://a.sub.example.com.evil.test/', one, 'networkAllowlist'],
    ['https://a.sub.example.community/', one, 'networkAllowlist'],
    ['https://example.com/', one, 'networkAllowlist'],
    ['https://xapi.example.com/', one, 'networkAllowlist'],
    ['https://x.api.example.com/', one, 'networkAllowlist'],
    ['https://[::ffff:127.0.0.1]/', one, 'networkAllowlist'],
    ['https://127.0.0.2/', one, 'networkAllowlist'],
    ['https://api.example.com/', rules([]), 'networkAllowlist'],
    ['http://a.test/', rules(['a.test'], { allowedSchemes: ['https'] }), 'network.allowedSchemes'],
    ['https://a.test/', rules(['a.test'], { allowedSchemes: ['http'] }), 'network.allowedSchemes'],
    ['https://a.test/', rules(['a.test'], { allowedSchemes: [] }), 'network.allowedSchemes'],
    ['https://a.test:444/', rules(['a.test'], { allowedPorts: [443] }), 'network.allowedPorts'],
    ['http://a.test/', rules(['a.test'], { allowedPorts: [443] }), 'network.allowedPorts'],
    ['https://a.test/', rules(['a.test'], { allowedPorts: [443] }), null],
    ['https://a.test:443/', rules(['a.test'], { allowedPorts: [443] }), null],
    ['http://a.test:443/', rules(['a.test'], { allowedPorts: [443] }), null],
    ['https://a.test/', rules(['a.test'], { allowedPorts: [] }), 'network.allowedPorts'],
  ] as [string, NetworkRules, string | null][])('%s: %#', (url, given, expected) => {
    expect(refusedBy(url, given)).toBe(expected)
  })

  it('a rule that is a URL or holds an encoded star allows nothing', () => {
    const broken = rules(['https://example.com', '%2A.example.com', '*', '*.*'])
    for (const url of ['https://example.com/', 'https://a.example.com/', 'https://x/'])
      expect(refusedBy(url, broken)).toBe('networkAllowlist')
  })
})

const special: [text: string, kind: string, form: string | null][] = [
  ['0.0.0.0', 'unspecified', null],
  ['0.255.255.255', 'unspecified', null],
  ['10.0.0.0', 'private', null],
  ['10.255.255.255', 'private', null],
  ['100.64.0.0', 'shared', null],
  ['100.127.255.255', 'shared', null],
  ['127.0.0.1', 'loopback', null],
  ['127.255.255.255', 'loopback', null],
  ['169.254.169.254', 'link-local', null],
  ['172.16.0.0', 'private', null],
  ['172.31.255.255', 'private', null],
  ['192.0.0.1', 'reserved', null],
  ['192.0.2.1', 'documentation', null],
  ['192.88.99.1', 'reserved', null],
  ['192.168.0.1', 'private', null],
  ['198.18.0.0', 'benchmark', null],
  ['198.19.255.255', 'benchmark', null],
  ['198.51.100.255', 'documentation', null],
  ['203.0.113.0', 'documentation', null],
  ['224.0.0.1', 'multicast', null],
  ['239.255.255.255', 'multicast', null],
  ['240.0.0.1', 'reserved', null],
  ['255.255.255.255', 'reserved', null],
  ['::', 'unspecified', null],
  ['::1', 'loopback', null],
  ['::2', 'reserved', 'IPv4-compatible'],
  ['::7f00:1', 'reserved', 'IPv4-compatible'],
  ['::8.8.8.8', 'reserved', 'IPv4-compatible'],
  ['::ffff:127.0.0.1', 'loopback', 'IPv4-mapped'],
  ['::ffff:169.254.169.254', 'link-local', 'IPv4-mapped'],
  ['::FFFF:A00:1', 'private', 'IPv4-mapped'],
  ['::ffff:0:10.0.0.1', 'reserved', null],
  ['64:ff9b::10.0.0.1', 'private', 'NAT64'],
  ['64:ff9b::7f00:1', 'loopback', 'NAT64'],
  ['64:ff9b:1::8.8.8.8', 'private', null],
  ['64:ff9b:0:0:0:1::', 'reserved', null],
  ['100::1', 'reserved', null],
  ['2001::1', 'reserved', 'Teredo'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'reserved', 'Teredo'],
  ['2001:2::1', 'benchmark', null],
  ['2001:20::1', 'reserved', null],
  ['2001:1ff::1', 'reserved', null],
  ['2001:db8::1', 'documentation', null],
  ['3fff::1', 'documentation', null],
  ['3fff:fff::1', 'documentation', null],
  ['2002:0a00:0001::1', 'private', '6to4'],
  ['2002:7f00:1::', 'loopback', '6to4'],
  ['2a00::5efe:192.168.0.1', 'private', 'ISATAP'],
  ['2a00::200:5efe:10.0.0.1', 'private', 'ISATAP'],
  ['5f00::1', 'reserved', null],
  ['4000::1', 'reserved', null],
  ['fc00::1', 'private', null],
  ['fdff:ffff::1', 'private', null],
  ['fe80::1', 'link-local', null],
  ['febf::1', 'link-local', null],
  ['fec0::1', 'private', null],
  ['ff02::1', 'multicast', null],
]

const open = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.0.3.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.99.255',
  '203.0.114.0',
  '223.255.255.255',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2606:4700:4700::1111',
  '2a00::5efe:8.8.8.8',
  '3ffe::1',
  '3fff:1000::1',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
]

describe('addresses', () => {
  it.each(special)('%s is %s', (text, kind, form) => {
    const address = parseAddress(text)
    expect(address && classify(address)).toEqual({ class: kind, form })
    const refusal = judgeAnswer(policyDefaults.network, 'https://a.test', [text])
    expect(refusal).toMatchObject({ rule: 'network.allowPrivate', field: 'network', subject: 'https://a.test' })
    expect(refusal?.detail).toContain(kind)
    expect(judgeAnswer({ ...policyDefaults.network, allowPrivate: true }, 'https://a.test', [text])).toBeNull()
  })

  it.each(open)('%s is public', text => {
    const address = parseAddress(text)
    expect(address && classify(address).class).toBe('public')
    expect(judgeAnswer(policyDefaults.network, 'https://a.test', [text])).toBeNull()
  })

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.256',
    '1.2.3.4 ',
    '[::1]',
    ':::',
    '1::2::3',
    '::1%lo',
    'fe80::1%eth0',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '::12345',
    '::1.2.3',
    '1.2.3.4::',
    '::g',
    'localhost',
    '/run/docker.sock',
    '１.1.1.1',
  ])('%j is no address, and an answer with it is refused whole, whatever the policy', text => {
    expect(parseAddress(text)).toBeNull()
    const lenient = { ...policyDefaults.network, allowPrivate: true }
    expect(judgeAnswer(lenient, 'https://a.test', ['1.1.1.1', text])).toMatchObject({ rule: 'unknown_address' })
  })

  it('one private address refuses the whole answer, wherever it stands', () => {
    const many = Array.from({ length: 40 }, (_, index) => `93.184.216.${index}`)
    expect(judgeAnswer(policyDefaults.network, 's', many)).toBeNull()
    for (const place of [0, 20, 40])
      expect(judgeAnswer(policyDefaults.network, 's', many.toSpliced(place, 0, '10.0.0.1'))).toMatchObject({
        rule: 'network.allowPrivate',
        detail: expect.stringContaining('10.0.0.1'),
      })
  })

  it('an empty answer is refused, with allowPrivate too', () => {
    expect(judgeAnswer({ ...policyDefaults.network, allowPrivate: true }, 's', [])).toMatchObject({
      rule: 'empty_answer',
    })
  })

  it('an answer has one order, each address once', () => {
    const answer = ['2606:4700::1', '9.9.9.9', '10.0.0.2', '2606:4700:0:0::1', '9.9.9.9', '10.0.0.10']
    expect(sortAddresses(answer)).toEqual(['9.9.9.9', '10.0.0.2', '10.0.0.10', '2606:4700::1'])
    expect(sortAddresses(['x', '9.9.9.9', 'x'])).toEqual(['9.9.9.9', 'x'])
  })
})

const octet = fc.integer({ min: 0, max: 255 })
const privateIpv4 = fc.oneof(
  fc.tuple(fc.constant(10), octet, octet, octet),
  fc.tuple(fc.constant(127), octet, octet, octet),
  fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
  fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), octet, octet),
  fc.tuple(fc.integer({ min: 224, max: 255 }), octet, octet, octet),
)

/** One way of writing an IPv4 address in a URL; digits may be encoded or of another width. */
const spelling = fc.record({
  parts: fc.integer({ min: 1, max: 4 }),
  radices: fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }),
  dress: fc.constantFrom('plain', 'percent', 'fullwidth', 'ideographic', 'dot'),
  form: fc.constantFrom('ipv4', 'mapped', 'mapped-hex', 'compatible', 'nat64', '6to4'),
})

function spelled(
  bytes: readonly number[],
  { parts, radices, dress, form }: typeof spelling extends fc.Arbitrary<infer S> ? S : never,
): string {
  const hex = (index: number) => (((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0)).toString(16)
  if (form === 'mapped') return `[::ffff:${bytes.join('.')}]`
  if (form === 'mapped-hex') return `[0:0:0:0:0:FFFF:${hex(0)}:${hex(2)}]`
  if (form === 'compatible') return `[::${bytes.join('.')}]`
  if (form === 'nat64') return `[64:ff9b::${hex(0)}:${hex(2)}]`
  if (form === '6to4') return `[2002:${hex(0)}:${hex(2)}::1]`
  const last = bytes.slice(parts - 1).reduce((value, byte) => value * 256 + byte, 0)
  const numbers = [...bytes.slice(0, parts - 1), last].map((value, index) => {
    const radix = radices[index] ?? 10
    return `${radix === 8 ? '0' : radix === 16 ? '0x' : ''}${value.toString(radix)}`
  })
  const plain = numbers.join('.')
  if (dress === 'percent') return plain.replace(/[0-9]/g, digit => `%3${digit}`)
  if (dress === 'fullwidth') return plain.replace(/[0-9]/g, digit => String.fromCodePoint(0xff10 + Number(digit)))
  if (dress === 'ideographic') return plain.replaceAll('.', '\u3002')
  return dress === 'dot' ? `${plain}.` : plain
}

describe('properties', () => {
  it('no spelling of a private IPv4 address is accepted without allowPrivate, even by a rule for it', () => {
    let judged = 0
    fc.assert(
      fc.property(privateIpv4, spelling, (bytes, how) => {
        const parsed = parseTarget(`http://${spelled(bytes, how)}/`)
        if (!parsed.ok) return
        judged++
        const { target } = parsed
        const known = {
          known: true as const,
          target,
          addresses: sortAddresses([target.host.replace(/^\[|\]$/g, '')]),
          proxy: null,
        }
        expect(judgeNetwork(rules([target.host]), known)?.rule).toBe('network.allowPrivate')
        expect(judgeNetwork(rules([target.host], { allowPrivate: true }), known)).toBeNull()
      }),
      { numRuns: 3_000 },
    )
    expect(judged).toBeGreaterThan(2_900)
  })

  it('agrees with Node about every range, for random addresses of both families', () => {
    const node = new BlockList()
    for (const [start, bits] of [
      ['0.0.0.0', 8],
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['127.0.0.0', 8],
      ['169.254.0.0', 16],
      ['172.16.0.0', 12],
      ['192.0.0.0', 24],
      ['192.0.2.0', 24],
      ['192.88.99.0', 24],
      ['192.168.0.0', 16],
      ['198.18.0.0', 15],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
      ['224.0.0.0', 3],
    ] as const)
      node.addSubnet(start, bits, 'ipv4')
    // Few high bits vary, so that borders are met often.
    const near = fc.tuple(
      fc.constantFrom(0, 9, 10, 11, 100, 127, 128, 169, 172, 192, 198, 203, 223, 224, 255),
      octet,
      octet,
      octet,
    )
    fc.assert(
      fc.property(fc.oneof(near, fc.tuple(octet, octet, octet, octet)), bytes => {
        const address = parseAddress(bytes.join('.'))
        expect(address && classify(address).class !== 'public').toBe(node.check(bytes.join('.')))
      }),
      { numRuns: 5_000 },
    )
  })

  it('reads IPv6 as Node does and writes it in the one canonical form', () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }))
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), fc.boolean(), (groups, isUpper) => {
        const written = groups.map(value => value.toString(16)).join(':')
        const address = parseAddress(isUpper ? written.toUpperCase() : written)
        const canonical = new URL(`http://[${written}]/`).hostname.slice(1, -1)
        expect(address && addressText(address)).toBe(canonical)
        expect(parseAddress(canonical)?.bytes).toEqual(address?.bytes)
      }),
      { numRuns: 2_000 },
    )
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('1', 'f', ':', '.', '0', '25', '::'), maxLength: 20 }), text => {
        if (text.includes(':')) expect(parseAddress(text) !== null).toBe(isIPv6(text))
      }),
      { numRuns: 5_000 },
    )
  })

  it('a floor never widens: what both together accept, each accepts', () => {
    const urls = fc.constantFrom(
      'https://example.com/',
      'http://api.example.com/',
      'https://x.api.example.com:8443/',
      'https://127.0.0.1/',
      'http://127.0.0.1:80/',
      'https://a.example.com/',
    )
    const answers = fc.subarray(['93.184.216.34', '10.0.0.1', '2606:4700::1'])
    const accepts = (policy: { networkAllowlist: string[]; network: NetworkPolicy }, url: string, answer: string[]) => {
      const parsed = parseTarget(url)
      if (!parsed.ok) throw new Error(url)
      const known = { known: true as const, target: parsed.target, addresses: answer, proxy: null }
      return judgeNetwork({ hosts: compileHostRules(policy.networkAllowlist), network: policy.network }, known) === null
    }
    let accepted = 0
    fc.assert(
      fc.property(floors, floors, urls, answers, (document, floor, url, answer) => {
        const alone = documentPolicy(document)
        const met = policyValues(effectivePolicy(alone.written, floor).policy)
        if (!accepts(met, url, answer)) return
        accepted++
        expect(accepts(alone.policy, url, answer)).toBe(true)
        expect(accepts(asPolicy(floor), url, answer)).toBe(true)
      }),
      { numRuns: 800 },
    )
    expect(accepted).toBeGreaterThan(5)
    fc.assert(
      fc.property(floors, floors, urls, answers, (left, right, url, answer) => {
        if (!accepts(asPolicy(meetFloors(left, right)), url, answer)) return
        expect(accepts(asPolicy(left), url, answer)).toBe(true)
        expect(accepts(asPolicy(right), url, answer)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

/** A floor's network fields read as a document's. */
function documentPolicy({ policy = {} }: Floor) {
  const { customCa: _, ...network } = policy.network ?? {}
  const written: WrittenPolicy = {
    networkAllowlist: policy.networkAllowlist ?? ['*.example.com', 'example.com'],
    network,
  }
  return { written, policy: policyValues(effectivePolicy(written, null).policy) }
}

/** What a floor alone allows: no bound where it states none. */
function asPolicy({ policy = {} }: Floor): { networkAllowlist: string[]; network: NetworkPolicy } {
  const hosts = policy.networkAllowlist ?? ['*.example.com', 'example.com', '127.0.0.1']
  const { network = {} } = policy
  return {
    networkAllowlist: hosts,
    network: {
      ...policyDefaults.network,
      allowPrivate: network.allowPrivate ?? true,
      allowedSchemes: network.allowedSchemes ?? ['https', 'http'],
      allowedPorts: network.allowedPorts ?? 'any',
    },
  }
}
