import { describe, expect, it, test } from 'vitest'
import type { Json } from '../../policy/json.ts'
import { checkSchema, validate } from '../../policy/json-schema/index.ts'
import { schemaLimits } from '../../policy/json-schema/limits.ts'

const ok = (schema: Json, value: Json) => validate(schema, value).ok

describe('a schema that cannot be used', () => {
  const cases: [name: string, schema: Json, path: string, message: string][] = [
    ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, '$schema', 'draft 2020-12'],
    ['an address', { $ref: 'https://example.com/a.json' }, '$ref', 'leaves its schema; nothing is fetched'],
    ['a file', { $ref: 'other.json#/$defs/a' }, '$ref', 'leaves its schema'],
    ['a name that is not there', { $ref: '#/$defs/none' }, '$ref', 'names no schema'],
    ['a place that is no schema', { properties: { a: true }, $ref: '#/properties' }, '$ref', 'names no schema'],
    ['a place within data', { const: { a: {} }, $ref: '#/const/a' }, '$ref', 'names no schema'],
    ['a broken escape', { $ref: '#/%zz' }, '$ref', 'names no schema'],
    ['a circle', { $ref: '#' }, '$ref', 'no end'],
    [
      'a longer circle',
      { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
      '$defs/a/allOf/0/$ref',
      'no end',
    ],
    ['look-ahead', { pattern: '^(?=a)' }, 'pattern', 're2'],
    ['look-behind', { pattern: '(?<=a)b' }, 'pattern', 're2'],
    ['a back-reference', { patternProperties: { '(a)\\1': true } }, 'patternProperties/(a)\\1', 're2'],
    ['too many repetitions', { pattern: '(a{900}){900}' }, 'pattern', 're2'],
    ['a pattern that is none', { pattern: '[' }, 'pattern', 'ECMAScript'],
    ['re2 that is no ECMAScript', { pattern: '\\Aa' }, 'pattern', 'ECMAScript'],
    ['a long pattern', { pattern: 'a'.repeat(1_001) }, 'pattern', 'longer than 1000'],
    ['a mistyped keyword', { requird: ['a'] }, 'requird', 'no keyword'],
    ['a keyword of another draft', { dependencies: { a: ['b'] } }, 'dependencies', 'not run'],
    ['a dynamic reference', { $dynamicRef: '#a' }, '$dynamicRef', 'not run'],
    ['an inner $id', { $defs: { a: { $id: 'x' } } }, '$defs/a/$id', '$id'],
    ['an anchor twice', { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } }, '$defs/b/$anchor', 'twice'],
    ['a list for items', { items: [{}] }, 'items', 'must be a schema'],
    ['a schema that is a text', { properties: { a: 'string' } }, 'properties/a', 'a map, true or false'],
    ['an unknown type', { type: 'int' }, 'type', 'name of a type'],
    ['a negative count', { minLength: -1 }, 'minLength', 'whole number from 0'],
    ['a text for a number', { minimum: '1' }, 'minimum', 'a number'],
    ['names that are none', { required: 'a' }, 'required', 'list of different texts'],
    ['a name twice', { required: ['a', 'a'] }, 'required', 'list of different texts'],
    ['nothing to choose from', { anyOf: [] }, 'anyOf', 'at least one'],
    ['a factor of 0', { multipleOf: 0 }, 'multipleOf', 'above 0'],
    ['a list', [], '', 'map, true or false'],
  ]
  test.each(cases)('%s is told with its place, and nothing satisfies it', (_, schema, path, message) => {
    const problems = checkSchema(schema)
    expect(problems.map(problem => problem.path.join('/'))).toContain(path)
    expect(problems.map(problem => problem.message).join()).toContain(message)
    expect(ok(schema, {})).toBe(false)
  })

  it('has at most 20 faults told', () => {
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, { type: 'x' }]))
    expect(checkSchema({ properties })).toHaveLength(schemaLimits.problems)
  })
})

it('takes annotations, unknown keywords that resemble none, and its own draft by name', () => {
  expect(
    checkSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/mine',
      title: 't',
      description: 'd',
      default: { $ref: 'nothing' },
      examples: [{ pattern: '(?=a)' }],
      'x-order': 1,
      deprecated: true,
      format: 'date-time',
    }),
  ).toEqual([])
})

describe('what ajv is not asked about', () => {
  test.each<[name: string, schema: Json, good: Json[], bad: Json[]]>([
    ['unevaluatedItems after prefixItems', { prefixItems: [true], unevaluatedItems: false }, [[], [1]], [[1, 2]]],
    ['unevaluatedItems after items in anyOf', { anyOf: [{ items: true }], unevaluatedItems: false }, [[1, 2]], []],
    [
      'unevaluatedItems after contains',
      { contains: { const: 1 }, unevaluatedItems: { const: 2 } },
      [
        [1, 2],
        [2, 1],
      ],
      [[1, 3]],
    ],
    ['contains beside prefixItems', { contains: { const: 1 }, prefixItems: [true] }, [[1], [2, 1]], [[], [2]]],
    ['a reference by anchor', { $ref: '#x', $defs: { a: { $anchor: 'x', type: 'null' } } }, [null], [1]],
    ['an escaped reference', { $ref: '#/$defs/a~1b%25', $defs: { 'a/b%': { type: 'null' } } }, [null], [1]],
    [
      'a schema of itself',
      { properties: { next: { $ref: '#' } }, additionalProperties: false },
      [{ next: { next: {} } }],
      [{ next: { other: 1 } }],
    ],
    ['decimal factors', { multipleOf: 0.1 }, [0.3, 0, 1e21, -0.7], [0.35]],
    ['tiny factors', { multipleOf: 1e-300 }, [1e300, 0], []],
    ['characters, not code units', { maxLength: 1 }, ['😀', ''], ['ab']],
    ['-0', { const: 0 }, [-0], [null]],
    ['lone surrogates', { enum: ['\ud800'] }, ['\ud800'], ['\udc00']],
    ['order of keys', { const: { a: 1, b: [2] } }, [{ b: [2], a: 1 }], [{ a: 1 }]],
    ['format, an annotation', { format: 'email' }, ['no address'], []],
    ['else without if', { else: false }, [1], []],
  ])('%s', (_, schema, good, bad) => {
    expect(checkSchema(schema)).toEqual([])
    for (const value of good) expect([value, ok(schema, value)]).toEqual([value, true])
    for (const value of bad) expect([value, ok(schema, value)]).toEqual([value, false])
  })

  test.each([
    ['\\s', ['\u00a0', '\ufeff', '\u2028', '\v', ' ']],
    ['[\\s]', ['\u00a0', '\u3000']],
    ['^[\\s\\S]$', ['\n', 'a', '\u00a0']],
    ['^\\S$', ['a', '\u200b', '😀']],
    ['^.$', ['😀', '\u0085', 'a']],
    ['^[[]$', ['[']],
    ['^\\u{1F600}$', ['😀']],
    ['^(?<year>\\d{4})$', ['2026']],
  ])('pattern %s means what it means in ECMAScript', (pattern, texts) => {
    expect(checkSchema({ pattern })).toEqual([])
    const native = new RegExp(pattern, 'u')
    for (const text of [...texts, 'x', '\n', '\u2029', '\u00a0', '', ' ', '\u180e'])
      expect([text, ok({ pattern }, text)]).toEqual([text, native.test(text)])
  })
})

describe('errors', () => {
  it('name the place, the rule and never the value', () => {
    const schema = {
      properties: { token: { pattern: '^[0-9]+$' }, list: { items: { enum: ['a', 'b'] } }, 'a/b~': { type: 'null' } },
      required: ['other'],
    }
    const value = { token: 'hunter2', list: ['a', 'hunter2'], 'a/b~': 'hunter2' }
    const checked = validate(schema, value)
    expect(checked).toEqual({
      ok: false,
      errors: [
        { path: '', message: 'must have `other`' },
        { path: '/token', message: 'must match the pattern ^[0-9]+$' },
        { path: '/list/1', message: 'must be one of "a", "b"' },
        { path: '/a~1b~0', message: 'must be of type null' },
      ],
    })
  })

  it('are few and short, however much is wrong', () => {
    const long = 'k'.repeat(10_000)
    const value = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${long}${index}`.slice(-5_000), 1]))
    const checked = validate({ additionalProperties: { enum: [long] } }, value)
    if (checked.ok) throw new Error('it is wrong')
    expect(checked.errors).toHaveLength(schemaLimits.errors)
    expect(JSON.stringify(checked.errors).length).toBeLessThan(10_000)
  })
})
