import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, describeError, secretRefusal } from '../../policy/redact.ts'
import { redactVolume } from './volume.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('no secret survives', () => {
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
    ['a circular object', object, '{"self":"[seen above]"}'],
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

it('many secrets in a long text, whole and in chunks', () => {
  redactVolume(100, 512 * 1024)
})
