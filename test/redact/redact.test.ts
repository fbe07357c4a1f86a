import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, describeError, secretRefusal } from '../../policy/redact.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** Everything that a program may print of a secret, by name. */
const encodings: { [name: string]: (secret: string) => string } = {
  plain: secret => secret,
  base64: secret => Buffer.from(secret).toString('base64'),
  base64url: secret => Buffer.from(secret).toString('base64url'),
  'percent-encoded': secret => encodeURIComponent(secret),
  'percent-encoded, lower case': secret => encodeURIComponent(secret).replaceAll(/%../g, part => part.toLowerCase()),
  'form-encoded': secret => new URLSearchParams({ v: secret }).toString().slice(2),
  'JSON-escaped': secret => JSON.stringify(secret).slice(1, -1),
}

const secret = fc
  .oneof(
    fc.string({ minLength: 4, maxLength: 40 }),
    fc.string({ unit: 'grapheme', minLength: 4, maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('a', 'b', '\n', '"', '\\', '/', ' ', '%', '+'), minLength: 4, maxLength: 30 }),
  )
  .filter(value => secretRefusal(value) === null)
const around = fc.string({ maxLength: 30 })

describe('no secret survives', () => {
  it.each(Object.keys(encodings))('%s, whole and at any split', name => {
    const encode = encodings[name] ?? String
    fc.assert(
      fc.property(secret, around, around, fc.array(fc.nat(), { maxLength: 9 }), (value, before, after, cuts) => {
        const encoded = encode(value)
        const redactor = createRedactor([value])
        // Long enough that a stream gives out most of it before the end.
        const text = (before + encoded + after).repeat(40) + encoded
        const shown = redactor.text(text)
        expect(shown).not.toContain(encoded)
        expect(shown).not.toContain(value)
        expect(streamed(redactor, text, cuts)).toBe(
          redactor.text(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes(text))),
        )
        const json = JSON.stringify(redactor.json({ [text]: text, list: [{ deep: text }] }))
        expect(json).not.toContain(JSON.stringify(encoded).slice(1, -1))
      }),
      { numRuns: 300 },
    )
  })

  it('in base64 of a longer text, whatever its alignment', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary-ascii', minLength: 6, maxLength: 30 }),
        fc.nat(8),
        fc.nat(8),
        (value, before, after) => {
          if (secretRefusal(value) !== null) return
          const whole = Buffer.from(`${'.'.repeat(before)}${value}${'.'.repeat(after)}`).toString('base64')
          const shown = createRedactor([value]).text(whole)
          // What is left decodes to none of the secret's inner bytes.
          const left = Math.ceil((before * 8) / 6)
          const inner = whole.slice(left, Math.floor(((before + Buffer.byteLength(value)) * 8) / 6))
          expect(shown).not.toContain(inner)
        },
      ),
    )
  })

  it('line by line', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 4, maxLength: 12 }), { minLength: 2, maxLength: 5 }), lines => {
        const redactor = createRedactor([lines.join('\n')])
        for (const line of lines.flatMap(one => one.split(/[\r\n]/)).filter(one => one.length >= 4)) {
          expect(redactor.text(`line: ${line}.`)).not.toContain(line)
          expect(redactor.text(Buffer.from(line).toString('base64'))).not.toContain(
            Buffer.from(line).toString('base64'),
          )
        }
      }),
    )
  })

  it('in base64 that is wrapped', () => {
    const value = Array.from({ length: 200 }, (_, number) => String.fromCharCode(33 + ((number * 7) % 90))).join('')
    const redactor = createRedactor([value])
    for (const width of [64, 76]) {
      const lines =
        Buffer.from(`${value}\n`)
          .toString('base64')
          .match(new RegExp(`.{1,${width}}`, 'g')) ?? []
      const shown = redactor.text(lines.join('\n'))
      for (const line of lines) expect(shown).not.toContain(line)
    }
  })

  it('where two secrets overlap', () => {
    expect(createRedactor(['abcdef', 'defghi']).text('1abcdefghi2')).toBe('1***2')
    expect(createRedactor(['abcdefgh', 'bcde']).text('1abcdefgh2')).toBe('1***2')
  })

  it('where a secret is made of the mask', () => {
    expect(createRedactor(['****']).text('a****b')).toBe('a###b')
    expect(createRedactor(['x***']).text('xx***')).toBe('x###')
  })

  it('where a character is split between chunks', () => {
    const text = 'größe-üüüüä'
    const all = bytes(text)
    for (let cut = 0; cut <= all.length; cut++) {
      const stream = createRedactor(['ü'.repeat(4)]).stream()
      expect(stream.push(all.subarray(0, cut)) + stream.push(all.subarray(cut)) + stream.end()).toBe('größe-***ä')
    }
  })

  it('one byte at a time, soon enough to be read', () => {
    const stream = createRedactor(['hunter2!']).stream()
    let shown = ''
    for (const byte of bytes('a long enough line of output, hunter2!, and more of it'))
      shown += stream.push(Uint8Array.of(byte))
    expect(shown.length).toBeGreaterThan(10)
    expect(shown + stream.end()).toBe('a long enough line of output, ***, and more of it')
  })
})

describe('JSON', () => {
  const redactor = createRedactor(['s3cr3t', '123456'])

  it('keeps its shape and blanks what is named like a secret', () => {
    expect(
      redactor.json({
        Authorization: 'Bearer x',
        api_key: 1,
        apiKey: { nested: true },
        TOKEN: ['a'],
        'x s3cr3t': 's3cr3t',
        number: 123456,
        count: 7,
        tokens: 12,
        secret: null,
        list: [true, null, 'plain'],
      }),
    ).toEqual({
      Authorization: '***',
      api_key: '***',
      apiKey: '***',
      TOKEN: '***',
      'x ***': '***',
      number: '***',
      count: 7,
      tokens: 12,
      secret: null,
      list: [true, null, 'plain'],
    })
  })

  it('keeps two keys that look alike once redacted', () => {
    expect(redactor.json({ s3cr3t: 1, '123456': 2 })).toEqual({ '***': 2, '*** (2)': 1 })
  })

  it('never throws', () => {
    const circular: { [key: string]: unknown } = { a: 's3cr3t' }
    circular['self'] = circular
    circular['twice'] = [circular, circular]
    const hostile = {
      get value() {
        throw new Error('no')
      },
    }
    const deep = Array.from({ length: 100_000 }).reduce<unknown>(inner => [inner], 's3cr3t')
    for (const value of [
      circular,
      hostile,
      deep,
      undefined,
      () => 1,
      Symbol('s3cr3t'),
      10n,
      new Error('s3cr3t'),
      Number.NaN,
    ]) {
      expect(JSON.stringify(redactor.json(value as never)) ?? '').not.toContain('s3cr3t')
    }
  })
})

describe('errors', () => {
  const circular = new Error('outer') as Error & { cause: unknown }
  circular.cause = circular
  const object: { [key: string]: unknown } = {}
  object['self'] = object
  it.each([
    ['an error', new TypeError('wrong'), 'TypeError: wrong'],
    ['its cause', new Error('outer', { cause: new Error('inner') }), 'outer: inner'],
    ['a circular cause', circular, 'outer'],
    ['a string', 'plain', 'plain'],
    ['an object', { code: 7 }, '{"code":7}'],
    ['an object with a message', { message: 'like an error' }, 'like an error'],
    ['a circular object', object, '[object Object]'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['an error without text', new RangeError(), 'RangeError'],
    [
      'what cannot be read',
      new Proxy(
        {},
        {
          get() {
            throw new Error('no')
          },
          ownKeys() {
            throw new Error('no')
          },
        },
      ),
      'a value that cannot be shown',
    ],
    ['no prototype', Object.create(null), '{}'],
  ])('reports %s', (_, thrown, text) => {
    expect(describeError(thrown)).toContain(text)
  })
})

describe('a secret that is too short', () => {
  it.each(['', 'a', 'abc', 'äöü', '💥💥💥'])('%j is refused', value => {
    expect(secretRefusal(value)).toMatch(/\w/)
    expect(createRedactor([value]).text('abc äöü 💥💥💥')).toBe('abc äöü 💥💥💥')
  })
  it.each(['abcd', '💥💥💥💥'])('%j is not', value => {
    expect(secretRefusal(value)).toBeNull()
  })
})

it('takes time in proportion to the text, for many secrets and for tiny chunks', () => {
  const secrets = Array.from({ length: 300 }, (_, number) => `secret-number-${number}-${'x'.repeat(40)}`)
  const redactor = createRedactor(secrets)
  const text = 'a line of ordinary output that holds nothing\n'.repeat(25_000)
  const start = performance.now()
  expect(redactor.text(text)).toBe(text)
  const stream = redactor.stream()
  let length = 0
  for (let at = 0; at < text.length; at += 50) length += stream.push(bytes(text.slice(at, at + 50))).length
  expect(length + stream.end().length).toBe(text.length)
  expect(performance.now() - start).toBeLessThan(5000)
})

function streamed(redactor: ReturnType<typeof createRedactor>, text: string, cuts: readonly number[]): string {
  const all = bytes(text)
  const places = [0, ...cuts.map(cut => cut % (all.length + 1)).sort((a, b) => a - b), all.length]
  const stream = redactor.stream()
  const shown = places.slice(1).map((place, index) => stream.push(all.subarray(places[index], place)))
  return shown.join('') + stream.end()
}
