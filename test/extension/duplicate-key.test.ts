import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { duplicateKey } from '../../runner/extension/duplicate-key.ts'

describe('a key that stands twice in one object', () => {
  const twice: [text: string, key: string][] = [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"x":{"a":[{"b":1 , "b" : 2}]}}', 'b'],
    ['{"a":{"b":1},"b":2,"a":3}', 'a'],
    ['{"a":[1,{}],"a":3}', 'a'],
    ['{"":1,"":2}', ''],
    ['{"\\"":1,"\\u0022":2}', '"'],
    ['[{"a":1},{"c":1,"c":"}"}]', 'c'],
  ]
  test.each(twice)('%s', (text, key) => expect(duplicateKey(text)).toBe(key))

  const once = [
    '{"a":{"a":{"a":1}},"b":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":"a","b":["a","a","b",{"a":"a"}]}',
    '{"a":"\\"a\\":1,","b":"{\\"b\\":1,\\"b\\":"}',
    '{"a\\\\":1,"a":"\\\\"}',
    '"a"',
    '["a","a"]',
    '{}',
  ]
  test.each(once)('none in %s', text => {
    JSON.parse(text)
    expect(duplicateKey(text)).toBeNull()
  })

  test('none in any text that JSON.stringify writes', () => {
    fc.assert(fc.property(fc.json(), text => duplicateKey(text) === null))
    fc.assert(fc.property(fc.json(), text => duplicateKey(JSON.stringify({ a: text, b: text })) === null))
  })

  test('of any two members with one key', () => {
    const member = fc.tuple(fc.string(), fc.json())
    fc.assert(
      fc.property(member, fc.json(), ([key, first], second) => {
        const name = JSON.stringify(key)
        expect(duplicateKey(`{"x${key.length}":0,${name}:${first},"y":1,${name}:${second}}`)).toBe(key)
      }),
    )
  })

  test('in 4 MiB of nested text within two seconds', () => {
    const text = `[${'{"a":"\\\\\\"","b":[1,2]},'.repeat(180_000)}{}]`
    const began = performance.now()
    expect(duplicateKey(text)).toBeNull()
    expect(performance.now() - began).toBeLessThan(2_000)
  })
})
