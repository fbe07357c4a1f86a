import type { Json, JsonObject } from '../json.ts'
import { type Shape, typeNames } from './keywords.ts'

/** What is wrong with the value of a keyword, null where nothing is; schemas below it are looked at elsewhere. */
export function shapeFault(keyword: string, shape: Shape, value: Json): { message: string; help: string } | null {
  const { is, wanted, help = `write ${wanted}` } = shapes[shape]
  if (is(value)) return null
  const other = keyword === 'items' && Array.isArray(value) ? 'write `prefixItems` for the first items' : help
  return { message: `\`${keyword}\` must be ${wanted}`, help: other }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const isText = (value: Json) => typeof value === 'string'
const isCount = (value: Json) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
const isTexts = (value: Json) => Array.isArray(value) && value.every(isText) && new Set(value).size === value.length
const isSchema = (value: Json) => typeof value === 'boolean' || isObject(value)
const isSchemas = (value: Json) => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isType = (value: Json) => typeof value === 'string' && typeNames.includes(value)
const isTypes = (value: Json) => Array.isArray(value) && value.length > 0 && value.every(isType) && isTexts(value)

const map = { is: isObject, wanted: 'a map of schemas' }

const shapes: { [Name in Shape]: { is(value: Json): boolean; wanted: string; help?: string } } = {
  schema: { is: isSchema, wanted: 'a schema: a map, true or false' },
  schemas: { is: isSchemas, wanted: 'a list of schemas, at least one' },
  schemaMap: map,
  patternMap: map,
  text: { is: isText, wanted: 'a text' },
  texts: { is: isTexts, wanted: 'a list of different texts' },
  textsMap: {
    is: value => isObject(value) && Object.values(value).every(isTexts),
    wanted: 'a map to lists of different texts',
  },
  types: {
    is: value => isType(value) || isTypes(value),
    wanted: 'a name of a type or a list of different ones',
    help: typeNames.join(', '),
  },
  count: { is: isCount, wanted: 'a whole number from 0' },
  number: { is: value => typeof value === 'number', wanted: 'a number' },
  positive: { is: value => typeof value === 'number' && value > 0, wanted: 'a number above 0' },
  flag: { is: value => typeof value === 'boolean', wanted: 'true or false' },
  list: { is: value => Array.isArray(value), wanted: 'a list' },
  pattern: { is: isText, wanted: 'a regular expression as a text' },
  any: { is: () => true, wanted: 'any value' },
}
