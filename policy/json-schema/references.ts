import type { Json, JsonObject } from '../json.ts'
import { shortened } from './at.ts'
import { inPlaceKeywords } from './keywords.ts'
import { schemaLimits } from './limits.ts'
import { isObject } from './shape.ts'
import type { SchemaProblem } from './types.ts'

/** One `$ref`. */
export interface Reference {
  schema: JsonObject
  to: string
  path: SchemaProblem['path']
}

/** Schema with a `$ref` -> what that names. */
type Targets = ReadonlyMap<JsonObject, Json>

/** Finds what references name among a schema's own parts; nothing is ever fetched. */
export function resolveReferences(
  references: readonly Reference[],
  places: ReadonlyMap<string, Json>,
): { targets: Targets; problems: SchemaProblem[] } {
  const targets = new Map<JsonObject, Json>()
  const problems: SchemaProblem[] = []
  for (const { schema, to, path } of references) {
    const target = places.get(placeOf(to))
    if (target === undefined) problems.push({ path, ...missing(to) })
    else targets.set(schema, target)
  }
  const help = 'refer to it below `properties` or `items`'
  const message = 'the schema refers to itself about the same value, which has no end'
  const done = new Set<Json>()
  for (const { schema, path } of references)
    if (isCircular(schema, targets, done, new Set())) problems.push({ path, message, help })
  return { targets, problems }
}

/** JSON pointer or anchor; a text that is no place where it is another resource. */
function placeOf(reference: string): string {
  if (!reference.startsWith('#')) return '#'
  try {
    return decodeURIComponent(reference.slice(1))
  } catch {
    return '#'
  }
}

function missing(reference: string): { message: string; help: string } {
  const message = reference.startsWith('#')
    ? `the reference \`${shortened(reference)}\` names no schema here`
    : `the reference \`${shortened(reference)}\` leaves its schema; nothing is fetched`
  return { message, help: 'put the schema that it names under `$defs` and write `#/$defs/NAME`' }
}

/** Whether references, and what is about the same value, lead back to where they began. */
function isCircular(schema: Json, targets: Targets, done: Set<Json>, open: Set<Json>): boolean {
  if (!isObject(schema) || done.has(schema)) return false
  if (open.has(schema)) return true
  // Longer than what evaluation follows: it refuses such a chain itself.
  if (open.size > schemaLimits.evaluationDepth) return false
  open.add(schema)
  const found = inPlace(schema, targets).some(below => isCircular(below, targets, done, open))
  open.delete(schema)
  done.add(schema)
  return found
}

function inPlace(schema: JsonObject, targets: Targets): Json[] {
  const target = targets.get(schema)
  const below = inPlaceKeywords.flatMap((keyword): Json[] => {
    const value = schema[keyword]
    if (Array.isArray(value)) return value
    if (keyword === 'dependentSchemas' && isObject(value)) return Object.values(value)
    return value === undefined ? [] : [value]
  })
  return target === undefined ? below : [target, ...below]
}
