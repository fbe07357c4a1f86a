import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { Json, JsonObject } from '../../policy/json.ts'

const names = ['a', 'b', 'ab', 'constructor', 'x/y', 'é']
const name = fc.constantFrom(...names)
/** Written so that both engines of patterns mean the same by it, and short enough to match often. */
const pattern = fc.constantFrom('^a', 'b$', '^[a-c]*$', 'a|b', '^.$', '\\d', '^\\s*$', '[^a]', '^(ab)+$', '\\p{L}')
const text = fc.constantFrom('', 'a', 'b', 'ab', 'abab', '1', ' ', '\u00a0', '\u2028', 'é', '😀', 'a\n')
const number = fc.constantFrom(-1, 0, -0, 1, 2, 3, 1.5, 0.1, 0.3, 1e-7)
const count = fc.nat(3)

/** With the prototype that parsed JSON has: ajv tells objects apart by it. */
function dictionary<T>(keys: fc.Arbitrary<string>, members: fc.Arbitrary<T>, maxKeys: number) {
  return fc.dictionary(keys, members, { maxKeys, noNullPrototype: true })
}

/** Small values of every type, with names and texts that the schemas know. */
export const values: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false),
    number,
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    dictionary(name, tie('value'), 4),
  ),
})).value

const type = fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'integer', 'string')

/**
 * Small schemas over the keywords that are run, with references to two definitions; none is circular. Without
 * `unevaluatedItems`, of which ajv 8.20 looks at the item `true` where `items` stands within `anyOf`, and without
 * `contains` beside `prefixItems`, which it lets pass on an empty list.
 */
export const schemas: fc.Arbitrary<Json> = fc
  .letrec<{ schema: Json; leaf: Json }>(tie => {
    const schema = tie('schema')
    const list = fc.array(schema, { minLength: 1, maxLength: 3 })
    const named = dictionary(name, schema, 3)
    const keywords: { [keyword: string]: fc.Arbitrary<Json> } = {
      type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
      const: values,
      enum: fc.uniqueArray(values, { minLength: 1, maxLength: 3, selector: value => JSON.stringify(value) }),
      not: schema,
      allOf: list,
      anyOf: list,
      oneOf: list,
      if: schema,
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
      then: schema,
      else: schema,
      properties: named,
      patternProperties: dictionary(pattern, schema, 2),
      additionalProperties: schema,
      unevaluatedProperties: schema,
      propertyNames: schema,
      minProperties: count,
      maxProperties: count,
      required: fc.uniqueArray(name, { maxLength: 2 }),
      dependentRequired: dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), 2),
      dependentSchemas: named,
      prefixItems: list,
      items: schema,
      contains: schema,
      minContains: count,
      maxContains: count,
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      minimum: number,
      maximum: number,
      exclusiveMinimum: number,
      exclusiveMaximum: number,
      multipleOf: fc.constantFrom(1, 2, 3),
      minLength: count,
      maxLength: count,
      pattern,
      $ref: fc.constantFrom('#/$defs/one', '#/$defs/two'),
    }
    const some = fc
      .uniqueArray(fc.constantFrom(...Object.keys(keywords)), { minLength: 1, maxLength: 4 })
      .filter(chosen => !(chosen.includes('contains') && chosen.includes('prefixItems')))
    const object = some.chain(chosen =>
      fc.record(Object.fromEntries(chosen.map(keyword => [keyword, keywords[keyword] ?? fc.constant<Json>(null)])), {
        noNullPrototype: true,
      }),
    )
    const leaf = fc.oneof(
      fc.boolean(),
      fc.record({ type }),
      fc.record({ const: values }),
      fc.record({ minimum: number }),
    )
    return { leaf, schema: fc.oneof({ depthSize: 'small' }, tie('leaf'), object) }
  })
  .schema.chain(schema => {
    const definitions = {
      one: { type: ['string', 'object'] },
      two: { properties: { a: { type: 'integer' } }, minItems: 1 },
    }
    return fc.constant<Json>(typeof schema === 'boolean' ? schema : { ...(schema as JsonObject), $defs: definitions })
  })

/** What ajv says; null where it does not take the schema. */
export function ajvOf(schema: Json): ((value: Json) => boolean) | null {
  const ajv = new Ajv2020({ strict: false, unicodeRegExp: true, validateFormats: false, ownProperties: true })
  try {
    const validate = ajv.compile(schema as object | boolean)
    return value => validate(value) === true
  } catch {
    return null
  }
}
