import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { createRedactor } from '../../policy/redact.ts'
import { decoded, secret, streamed } from './secrets.ts'

const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
const upper = (text: string) => text.replaceAll(/\\u[0-9a-f]{4}/g, code => `\\u${code.slice(2).toUpperCase()}`)
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const ascii = (text: string) => json(text).replaceAll(/[\u007f-\uffff]/g, unicode)
const php = (text: string) => ascii(text).replaceAll('/', '\\/')
const go = (text: string) => json(text).replaceAll(/[<>&\u2028\u2029]/g, unicode)
const net = (text: string) =>
  upper(
    text.replaceAll(/[\0-\x1f"&'+<>`\\\u007f-\uffff]/g, character =>
      /[\b\t\n\f\r\\]/.test(character) ? json(character) : unicode(character),
    ),
  )

/** One code unit; half of a pair as it is, which `JSON.stringify` would escape. */
const own = (unit: string) => (/[\ud800-\udfff]/.test(unit) ? unit : json(unit))
const escaping = (characters: RegExp) => (text: string) => json(text).replaceAll(characters, unicode)
const gson = escaping(/[<>&='\u2028\u2029]/g)
const flask = escaping(/[<>&']/g)
const flaskAscii = escaping(/[<>&'\u007f-\uffff]/g)
/** JSON_HEX_TAG, _APOS, _AMP and _QUOT: these in upper case, the others in lower. */
const phpHexUnescaped = (text: string) =>
  text.replaceAll(/[\s\S]/g, unit => (/[<>&'"]/.test(unit) ? upper(unicode(unit)) : own(unit).replaceAll('/', '\\/')))
const phpHex = (text: string) => phpHexUnescaped(text).replaceAll(/[\u007f-\uffff]/g, unicode)
const newtonsoft = (text: string) =>
  text.replaceAll(/[\s\S]/g, unit => (/[<>&'"\u0085\u2028\u2029]/.test(unit) ? unicode(unit) : own(unit)))
const everything = (text: string) => text.replaceAll(/[\s\S]/g, unicode)

/** One level of JSON, of which each choice decides how one code unit stands: as it may, short, or as `\uXXXX`. */
function chosen(text: string, choices: readonly number[]): string {
  const short: { [unit: string]: string } = { '/': '\\/', "'": "\\'" }
  return text.replaceAll(/[\s\S]/g, (unit: string, at: number) => {
    const choice = choices[at % choices.length] ?? 0
    if (choice === 2) return unicode(unit)
    if (choice === 3) return upper(unicode(unit))
    return choice === 1 ? (short[unit] ?? own(unit)) : own(unit)
  })
}

const percent = (text: string, literal: RegExp) =>
  Array.from(Buffer.from(text), byte =>
    byte < 128 && literal.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('')
const lower = (text: string) => text.replaceAll(/%../g, code => code.toLowerCase())

/** Each encoding as the program writes it that people use. */
const encodings: { [name: string]: (secret: string) => string } = {
  'as it is': text => text,
  'base64, padded': text => Buffer.from(text).toString('base64'),
  'base64, not padded': text => Buffer.from(text).toString('base64').replaceAll('=', ''),
  'base64 for URLs': text => Buffer.from(text).toString('base64url'),
  'base64 for URLs, padded': text => Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_'),
  'base64 in a URL': text => encodeURIComponent(Buffer.from(text).toString('base64')),
  encodeURIComponent: text => encodeURIComponent(text.toWellFormed()),
  'lower-case hex': text => encodeURIComponent(text.toWellFormed()).replaceAll(/%../g, code => code.toLowerCase()),
  'a form': text => new URLSearchParams({ v: text }).toString().slice(2),
  'a path of Go': text => percent(text, /[A-Za-z0-9\-_.~$&+=:@]/),
  'a form of PHP': text => percent(text, /[A-Za-z0-9\-_.]/).replaceAll('%20', '+'),
  'a form of .NET': text => lower(percent(text, /[A-Za-z0-9\-_.!*()]/).replaceAll('%20', '+')),
  'JSON.stringify': json,
  'JSON of Python and of PHP': text => ascii(text),
  'JSON of PHP': text => php(text),
  'JSON of Java': text => upper(ascii(text)),
  'JSON of Go': text => go(text),
  'JSON of .NET': text => net(text),
  'JSON of Gson': text => gson(text),
  "JSON of Flask's tojson": text => flask(text),
  "JSON of Flask's tojson, in ASCII": text => flaskAscii(text),
  'JSON of PHP with JSON_HEX_*': text => phpHex(text),
  'JSON of PHP with JSON_HEX_* and Unicode': text => phpHexUnescaped(text),
  'JSON of Newtonsoft with EscapeHtml': text => newtonsoft(text),
  'JSON that escapes every character': text => everything(text),
  'JSON in JSON in JSON of Gson': text => gson(gson(gson(text))),
  'JSON in JSON of PHP with JSON_HEX_*': text => phpHex(phpHex(text)),
  'JSON of Gson in JSON that escapes every character, twice': text => everything(everything(gson(text))),
  'base64 in JSON in JSON of Gson': text => gson(gson(Buffer.from(text).toString('base64'))),
  'base64 in JSON that escapes every character': text => everything(Buffer.from(text).toString('base64')),
  'base64 in a URL in JSON that escapes every character': text =>
    everything(encodeURIComponent(Buffer.from(text).toString('base64'))),
  'encodeURIComponent in JSON of Gson': text => gson(encodeURIComponent(text.toWellFormed())),
  'JSON in JSON': text => json(json(text)),
  'JSON in JSON of Python': text => ascii(ascii(text)),
  'JSON in JSON in JSON of Python': text => ascii(ascii(ascii(text))),
  'JSON in JSON in JSON of Java': text => upper(ascii(upper(ascii(upper(ascii(text)))))),
  'JSON in JSON in JSON of Go': text => go(go(go(text))),
  'JSON in JSON of PHP': text => php(php(text)),
  'JSON in JSON in JSON of .NET': text => net(net(net(text))),
  'JSON of Node within JSON of Go within JSON of Python': text => ascii(go(json(text))),
  'base64 in JSON in JSON in JSON of PHP': text => php(php(php(Buffer.from(text).toString('base64')))),
  'base64 in JSON in JSON in JSON of .NET': text => net(net(net(Buffer.from(text).toString('base64')))),
}

describe('case 33: no secret of four characters or more survives', () => {
  it.each(Object.keys(encodings))('%s: whole, under any chunking, twice, as value and as key', name => {
    const encode = encodings[name] ?? String
    fc.assert(
      fc.property(
        secret,
        fc.string(),
        fc.string(),
        fc.array(fc.nat(), { maxLength: 12 }),
        (value, before, after, cuts) => {
          const encoded = encode(value)
          const redactor = createRedactor([value])
          const text = (before + encoded + after).repeat(30) + encoded
          const shown = redactor.text(text)
          expect(shown).not.toContain(encoded)
          expect(redactor.text(shown)).toBe(shown)
          expect(streamed(redactor, text, cuts)).toBe(redactor.text(decoded(text)))
          const value1 = redactor.json({ [text]: [text, { [encoded]: text }] })
          expect(JSON.stringify(value1)).not.toContain(json(encoded))
          expect(redactor.json(value1)).toEqual(value1)
        },
      ),
      { numRuns: 150 },
    )
  })

  test.each(Object.keys(encodings))('%s: what was reported to show', name => {
    const encode = encodings[name] ?? String
    for (const value of ['c3VwZXItc2VjcmV0LWtleS0xMjM0NQ==', `'<&"=é`, `/'<&"=é\\\u2028💥`, '====', `"'"'`]) {
      const redactor = createRedactor([value])
      expect(redactor.text(`"v":"${encode(value)}"`), value).toBe('"v":"***"')
    }
  })

  it('JSON of any encoder: each character as it chooses, at each of three levels, in what else encodes it', () => {
    const choices = fc.array(fc.nat(3), { minLength: 1, maxLength: 40 })
    const inner = [
      (text: string) => text,
      (text: string) => Buffer.from(text).toString('base64'),
      (text: string) => Buffer.from(text).toString('base64url'),
      (text: string) => encodeURIComponent(text.toWellFormed()),
    ]
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom(...inner),
        fc.array(choices, { minLength: 1, maxLength: 3 }),
        fc.string({ unit: fc.constantFrom('\\', '\\\\', '"', 'u', '0', '005c', 'a', '\n') }),
        fc.array(fc.nat(), { maxLength: 12 }),
        (value, encode, levels, around, cuts) => {
          const encoded = levels.reduce(chosen, encode(value))
          const redactor = createRedactor([value])
          const text = (around + encoded).repeat(5) + around
          const shown = redactor.text(text)
          expect(shown).not.toContain(encoded)
          expect(redactor.text(shown)).toBe(shown)
          expect(streamed(redactor, text, cuts)).toBe(redactor.text(decoded(text)))
        },
      ),
      { numRuns: 600 },
    )
  })

  test('JSON of three levels that comes byte by byte, and in blocks of any place', () => {
    const value = `c3VwZXI'<&"=é+/==`
    const redactor = createRedactor([value])
    const encoded = everything(everything(everything(value)))
    for (const before of [0, 1, 4000, 4090, 4095, 4096, 4097]) {
      const text = `${'-'.repeat(before)}${encoded}.`
      const shown = `${'-'.repeat(before)}***.`
      expect(redactor.text(text)).toBe(shown)
      const cuts = Array.from({ length: text.length }, (_, index) => index)
      expect(streamed(redactor, text, cuts)).toBe(shown)
    }
  })

  /** The URL standard drops line ends and tabs, and reads `\\` and `.` of a path in its own way. */
  const inUrls = secret.filter(value => !/[\t\r\n\\.]/.test(value) && value.isWellFormed())
  test.each<[string, (url: URL, value: string) => string]>([
    ['query', (url, value) => Object.assign(url, { search: value }).search.slice(1)],
    ['fragment', (url, value) => Object.assign(url, { hash: value }).hash.slice(1)],
    ['path', (url, value) => Object.assign(url, { pathname: `/a${value}b` }).pathname.slice(2, -1)],
    ['password', (url, value) => Object.assign(url, { password: value }).password],
    ['query of another scheme', (_, value) => Object.assign(new URL('x://h/'), { search: value }).search.slice(1)],
  ])('in the %s of a URL', (_, encode) => {
    fc.assert(
      fc.property(inUrls, value => {
        const encoded = encode(new URL('http://u@h/'), `x${value}`).slice(1)
        const redactor = createRedactor([value])
        expect(redactor.text(`GET http://h/${encoded} 200`)).not.toContain(encoded)
      }),
      { numRuns: 500 },
    )
  })

  const alphabets = ['base64', 'base64url'] as const
  it.each(alphabets)('%s of a longer text: at each alignment, wrapped anywhere, under any chunking', alphabet => {
    const layout = fc.record({
      before: fc.nat(200),
      after: fc.nat(90),
      width: fc.constantFrom(76, 64, 60, 20),
      end: fc.constantFrom('\n', '\r\n', '\n    ', '\\n', '\\r\\n', '\\\\r\\\\n', '\\\\\\\\r\\\\\\\\n'),
    })
    fc.assert(
      fc.property(
        secret,
        layout,
        fc.array(fc.nat(), { maxLength: 12 }),
        (value, { before, after, width, end }, cuts) => {
          const bytes = Buffer.byteLength(value)
          const whole = Buffer.from(`${'.'.repeat(before)}${value}${'.'.repeat(after)}`).toString(alphabet)
          // The characters that the secret alone determines.
          const own = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes) * 8) / 6))
          const text = (whole.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(end)
          const redactor = createRedactor([value])
          const shown = redactor.text(text)
          expect(shown.replaceAll(end, '')).not.toContain(own)
          expect(redactor.text(shown)).toBe(shown)
          expect(streamed(redactor, text, cuts)).toBe(shown)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a multi-line secret: each of its lines, alone and encoded, and the whole in wrapped base64', () => {
    const lines = [
      '-----BEGIN KEY-----',
      'MIIEvQIBADANBgkq',
      'hkiG9w0BAQEFAASC',
      '  indented line',
      '-----END KEY-----',
    ]
    for (const end of ['\n', '\r\n', '\r']) {
      const redactor = createRedactor([lines.join(end)])
      for (const line of lines) {
        const own = line.trim()
        for (const text of [own, `> ${own}`, Buffer.from(own).toString('base64'), encodeURIComponent(own)])
          expect(redactor.text(text), text).not.toContain(text.startsWith('> ') ? own : text)
      }
      const wrapped = Buffer.from(`key: ${lines.join(end)}\n`)
        .toString('base64')
        .replaceAll(/.{76}/g, '$&\n')
      const left = redactor.text(wrapped).replaceAll(/\*|\n/g, '')
      expect(Buffer.from(left, 'base64').toString('latin1')).not.toMatch(/BEGIN|MIIE|hkiG|indented|END/)
    }
  })

  test('at every split of the bytes in two', () => {
    const value = 'pässword/with+all "of it"\\'
    const redactor = createRedactor([value])
    for (const encode of Object.values(encodings)) {
      const text = Buffer.from(`x=${encode(value)};\n`)
      for (let cut = 0; cut <= text.length; cut++) expect(streamed(redactor, text, [cut])).toBe('x=***;\n')
    }
  })

  test('in indented narrow lines of base64 that come in small pieces', () => {
    const value = 'correcthorsebatterystaple'.repeat(16)
    const redactor = createRedactor([value])
    const wrapped = Buffer.from(value).toString('base64').replaceAll(/.{17}/g, '$&\\r\\n        ')
    for (let before = 0; before < 40; before++) {
      const text = `${'-'.repeat(before * 37)} ${wrapped}`
      const cuts = Array.from({ length: text.length / 10 }, (_, index) => index * 10)
      expect(streamed(redactor, text, cuts)).toBe(`${'-'.repeat(before * 37)} ***`)
    }
  })

  test('beside bytes that are no UTF-8', () => {
    const redactor = createRedactor(['correct horse'])
    const noise = Buffer.from([0xff, 0xfe, 0xe2, 0x82])
    for (const end of [0, 1, 2, 3, 4]) {
      const shown = streamed(
        redactor,
        Buffer.concat([noise.subarray(0, end), Buffer.from('correct horse'), noise]),
        [7],
      )
      expect(shown).not.toContain('correct')
      expect(shown).toContain('***')
    }
  })

  test.each(['', 'a', 'abc', '€uö'])('a value under four characters, %j, is refused and shreds nothing', value => {
    expect(createRedactor([value]).text('a cab, an abc, €uö')).toBe('a cab, an abc, €uö')
  })
})

describe('keys that name a secret are blanked', () => {
  const redactor = createRedactor([])
  test.each([
    'authorization',
    'Authorization',
    'api_key',
    'api-key',
    'apiKey',
    'APIKEY',
    'token',
    'secret',
    'PASSWORD',
  ])('%s', key => {
    expect(redactor.json({ [key]: 'x', deep: [{ [key]: { a: 1 } }] })).toEqual({
      [key]: '***',
      deep: [{ [key]: '***' }],
    })
  })
  test.each(['tokens', 'secretary', 'author', 'max_token', 'key'])('%s is not', key => {
    expect(redactor.json({ [key]: 'x' })).toEqual({ [key]: 'x' })
  })
})

it('is idempotent for many secrets at once, whichever of them overlap', () => {
  const close = fc.string({ unit: fc.constantFrom('a', 'b', '*', '#'), minLength: 4, maxLength: 9 })
  fc.assert(
    fc.property(fc.array(close, { minLength: 1, maxLength: 6 }), fc.array(close), (values, parts) => {
      const redactor = createRedactor(values)
      const shown = redactor.text(parts.join(''))
      for (const value of values) expect(shown).not.toContain(value)
      expect(redactor.text(shown)).toBe(shown)
    }),
    { numRuns: 500 },
  )
})
