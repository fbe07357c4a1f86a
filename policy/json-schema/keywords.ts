/** What the value of a keyword is; `schema`, `schemas` and `schemaMap` hold further schemas. */
export type Shape =
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'patternMap'
  | 'text'
  | 'texts'
  | 'textsMap'
  | 'types'
  | 'count'
  | 'number'
  | 'positive'
  | 'flag'
  | 'list'
  | 'pattern'
  | 'any'

/** The keywords of draft 2020-12 that are run, and its annotations. `format` is an annotation, as the draft has it by default. */
export const keywords: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['$schema', 'text'],
  ['$id', 'text'],
  ['$ref', 'text'],
  ['$anchor', 'text'],
  ['$comment', 'text'],
  ['$defs', 'schemaMap'],
  // Deprecated by the draft and still what many generators write.
  ['definitions', 'schemaMap'],
  ['type', 'types'],
  ['const', 'any'],
  ['enum', 'list'],
  ['not', 'schema'],
  ['allOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['if', 'schema'],
  ['then', 'schema'],
  ['else', 'schema'],
  ['properties', 'schemaMap'],
  ['patternProperties', 'patternMap'],
  ['additionalProperties', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['propertyNames', 'schema'],
  ['minProperties', 'count'],
  ['maxProperties', 'count'],
  ['required', 'texts'],
  ['dependentRequired', 'textsMap'],
  ['dependentSchemas', 'schemaMap'],
  ['prefixItems', 'schemas'],
  ['items', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['contains', 'schema'],
  ['minContains', 'count'],
  ['maxContains', 'count'],
  ['minItems', 'count'],
  ['maxItems', 'count'],
  ['uniqueItems', 'flag'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['exclusiveMinimum', 'number'],
  ['exclusiveMaximum', 'number'],
  ['multipleOf', 'positive'],
  ['minLength', 'count'],
  ['maxLength', 'count'],
  ['pattern', 'pattern'],
  ['format', 'text'],
  ['title', 'text'],
  ['description', 'text'],
  ['default', 'any'],
  ['examples', 'list'],
  ['deprecated', 'flag'],
  ['readOnly', 'flag'],
  ['writeOnly', 'flag'],
  ['contentEncoding', 'text'],
  ['contentMediaType', 'text'],
  ['contentSchema', 'schema'],
])

/** Keywords of other drafts, and what this one does not run, each with what to write instead: ignored, they would let values pass. */
export const refusedKeywords: ReadonlyMap<string, string> = new Map([
  ['$dynamicRef', 'write a `$ref` to the one schema that is meant'],
  ['$dynamicAnchor', 'write `$anchor`'],
  ['$recursiveRef', 'write `$ref: "#"`'],
  ['$recursiveAnchor', 'write `$ref: "#"` where the schema refers to itself'],
  ['$vocabulary', 'leave it out'],
  ['id', 'write `$id`'],
  ['additionalItems', 'write `prefixItems` for the first items and `items` for the rest'],
  ['dependencies', 'write `dependentRequired` or `dependentSchemas`'],
])

/** Keywords whose schemas are about the value itself, not about a part of it. */
export const inPlaceKeywords = ['not', 'if', 'then', 'else', 'allOf', 'anyOf', 'oneOf', 'dependentSchemas'] as const

export const typeNames: readonly string[] = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']

/** The one draft that is run. */
export const draft = 'https://json-schema.org/draft/2020-12/schema'
