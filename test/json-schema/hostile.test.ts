import { describe, expect, it, test } from 'vitest'
import type { Json, JsonObject } from '../../policy/json.ts'
import { checkSchema, validate } from '../../policy/json-schema/index.ts'

/** Far above what is needed, since two cores are shared: without bounds these would take hours. */
const millisecondsMax = 20_000

function timed<T>(act: () => T): T {
  const began = performance.now()
  const result = act()
  expect(performance.now() - began).toBeLessThan(millisecondsMax)
  return result
}

function refusedAsTooCostly(schema: Json, value: Json): void {
  expect(checkSchema(schema)).toEqual([])
  const checked = timed(() => validate(schema, value))
  expect(checked).toMatchObject({ ok: false, errors: [{ path: '', message: expect.stringContaining('more than') }] })
}

/** Every level asks twice about the level below. */
function doubling(levels: number): JsonObject {
  const $defs: JsonObject = { d0: { type: 'object' } }
  for (let level = 1; level <= levels; level++) {
    const below = { $ref: `#/$defs/d${level - 1}` }
    $defs[`d${level}`] = {
      not: { allOf: [{ not: below }, { not: { not: { not: below } } }] },
      oneOf: [below, { not: below }],
    }
  }
  return { $ref: `#/$defs/d${levels}`, $defs }
}

function nestedLists(levels: number): Json {
  let value: Json = []
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

describe('bounded time', () => {
  it('for schemas that double at each level', () => {
    refusedAsTooCostly(doubling(60), {})
  })

  it('for schemas that double at each level of the value', () => {
    const next = { $ref: '#' }
    refusedAsTooCostly({ allOf: [{ items: next }, { items: next }, { items: next }] }, nestedLists(60))
  })

  it('for values nested more deeply than anything is evaluated', () => {
    refusedAsTooCostly({ items: { $ref: '#' } }, nestedLists(5_000))
  })

  test.each([
    ['^(a+)+$', 'a'],
    ['^(?:a?){100}a{100}$', 'a'],
    ['(x+x+)+y', 'x'],
    ['([a-z]*)*\\d', 'a'],
  ])('for the pattern %s on 1 MiB', (pattern, letter) => {
    expect(checkSchema({ pattern })).toEqual([])
    timed(() => validate({ pattern }, `${letter.repeat(1_048_576)}!`))
  })

  it('for many patterns on many keys', () => {
    const patterns = Array.from({ length: 500 }, (_, index) => [`^(a|b|${index})*${index}$`, { type: 'null' }])
    const keys = Array.from({ length: 5_000 }, (_, index) => [`${'ab'.repeat(50)}${index}`, null])
    refusedAsTooCostly({ patternProperties: Object.fromEntries(patterns) }, Object.fromEntries(keys))
  })

  const names = Array.from({ length: 50_000 }, (_, index) => `n${index}`)
  const empty = Array.from({ length: 20_000 }, () => ({}))
  it.each<[string, JsonObject]>([
    ['names that are asked for', { not: { required: names } }],
    ['names that others ask for', { dependentRequired: Object.fromEntries(names.map(name => [name, []])) }],
    ['what one name asks for', { not: { dependentRequired: { a: names } } }],
    [
      'patterns of names',
      { patternProperties: Object.fromEntries(names.slice(0, 4_000).map(name => [`^${name}`, true])) },
    ],
  ])('for many %s, of many values', (_, items) => {
    refusedAsTooCostly({ items }, 'not' in items ? empty.map(() => ({ a: 1 })) : empty)
  })

  it('for many keywords that mean nothing', () => {
    const schema = Object.fromEntries(names.map(name => [`maxLengthx${name}`, 1]))
    expect(timed(() => checkSchema(schema))).toEqual([])
  })

  it('for unique items, which take no longer than they are', () => {
    const items = Array.from({ length: 300_000 }, (_, index) => index)
    expect(timed(() => validate({ uniqueItems: true }, items))).toEqual({ ok: true })
    expect(timed(() => validate({ uniqueItems: true }, [...items, 7]))).toMatchObject({ ok: false })
  })

  it('for a long list of listed values', () => {
    const listed = Array.from({ length: 5_000 }, (_, index) => `${'v'.repeat(100)}${index}`)
    const scalars = Array.from({ length: 10_000 }, () => 'v'.repeat(100))
    refusedAsTooCostly({ contains: { enum: listed } }, scalars)
    refusedAsTooCostly(
      { contains: { enum: [listed, [listed]] } },
      Array.from({ length: 1_000 }, () => [1]),
    )
  })

  it('for a large and plain value', () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => ({ id: index, name: `row ${index}` }))
    const row = { properties: { id: { type: 'integer' }, name: { pattern: '^row [0-9]+$' } }, required: ['id', 'name'] }
    expect(timed(() => validate({ items: row }, rows))).toEqual({ ok: true })
  })
})

describe('bounded schemas', () => {
  it('by their number', () => {
    const anyOf = Array.from({ length: 10_001 }, () => true)
    expect(checkSchema({ anyOf })[0]?.message).toContain('at most 10000 schemas')
  })

  it('by their depth, also where it is beyond any stack', () => {
    let schema: Json = true
    for (let level = 0; level < 50_000; level++) schema = { not: schema }
    expect(timed(() => checkSchema(schema))[0]?.message).toContain('too deeply')
  })

  it('by the length of a chain of references', () => {
    const $defs: JsonObject = { d0: true }
    for (let index = 1; index < 5_000; index++) $defs[`d${index}`] = { $ref: `#/$defs/d${index - 1}` }
    expect(timed(() => checkSchema({ $defs }))).toEqual([])
    refusedAsTooCostly({ $ref: '#/$defs/d4999', $defs }, 1)
  })
})

describe('names that objects inherit', () => {
  const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  const own = (name: string, value: Json): JsonObject =>
    JSON.parse(`{${JSON.stringify(name)}: ${JSON.stringify(value)}}`)

  test.each(inherited)('%s is a name as any other', name => {
    expect(validate({ required: [name] }, {}).ok).toBe(false)
    expect(validate({ required: [name] }, own(name, 1)).ok).toBe(true)
    expect(validate({ properties: own(name, { type: 'string' }) }, {}).ok).toBe(true)
    expect(validate({ properties: own(name, { type: 'string' }) }, own(name, 1)).ok).toBe(false)
    expect(validate({ properties: {} }, own(name, 1)).ok).toBe(true)
    expect(validate({ required: ['a'], dependentSchemas: { a: true } }, own(name, 1)).ok).toBe(false)
    expect(validate({ additionalProperties: false }, own(name, 1)).ok).toBe(false)
    expect(validate({ properties: own(name, true), additionalProperties: false }, own(name, 1)).ok).toBe(true)
    expect(validate({ properties: own(name, true), unevaluatedProperties: false }, own(name, 1)).ok).toBe(true)
    expect(validate({ const: {} }, own(name, 1)).ok).toBe(false)
    expect(validate({ $ref: `#/$defs/${name}`, $defs: own(name, false) }, 1).ok).toBe(false)
    expect(checkSchema({ $ref: `#/$defs/${name}` })).toHaveLength(1)
    expect(validate({ dependentRequired: own(name, ['a']) }, {}).ok).toBe(true)
  })

  it('and nothing is left on a prototype', () => {
    const hostile = JSON.parse('{"properties": {"__proto__": {"polluted": true}}, "__proto__": {"polluted": true}}')
    checkSchema(hostile)
    validate(hostile, JSON.parse('{"__proto__": {"polluted": true}}'))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
