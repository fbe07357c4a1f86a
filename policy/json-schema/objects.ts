import type { Json, JsonObject } from '../json.ts'
import { type At, below, shortened } from './at.ts'
import type { Evaluation, Group } from './evaluation.ts'
import type { Found } from './found.ts'
import { isObject } from './shape.ts'

/** What each entry of a keyword's map costs whenever the map is gone through. */
const entrySteps = 4

/** Every keyword about an object but `unevaluatedProperties`. */
export const objectParts: Group = (evaluation, schema, value, at, found) => {
  if (!isObject(value)) return true
  const steps = [names, counts, properties, dependents]
  let ok = true
  for (const step of steps) {
    if (!step(evaluation, schema, value, at, found)) ok = false
    if (!ok && evaluation.isEnough(at)) return false
  }
  return ok
}

type Part = (evaluation: Evaluation, schema: JsonObject, value: JsonObject, at: At, found: Found | null) => boolean

const names: Part = (evaluation, { required, propertyNames }, value, at) => {
  let ok = true
  const needed = textsOf(required)
  evaluation.spend(needed.length)
  for (const name of needed)
    if (!Object.hasOwn(value, name)) ok = evaluation.fail(at, `must have \`${shortened(name)}\``)
  if (propertyNames === undefined) return ok
  for (const name of Object.keys(value)) ok = evaluation.evaluate(propertyNames, name, below(at, name), null) && ok
  return ok
}

const counts: Part = (evaluation, { minProperties, maxProperties }, value, at) => {
  if (minProperties === undefined && maxProperties === undefined) return true
  const count = Object.keys(value).length
  evaluation.spend(count)
  if (typeof minProperties === 'number' && count < minProperties)
    return evaluation.fail(at, `must have at least ${minProperties} properties`)
  if (typeof maxProperties === 'number' && count > maxProperties)
    return evaluation.fail(at, `must have at most ${maxProperties} properties`)
  return true
}

/** properties, patternProperties, additionalProperties: the last is about what the others leave. */
const properties: Part = (evaluation, schema, value, at, found) => {
  const { properties: declared, patternProperties, additionalProperties } = schema
  if (declared === undefined && patternProperties === undefined && additionalProperties === undefined) return true
  const patterns = isObject(patternProperties) ? Object.entries(patternProperties) : []
  evaluation.spend(patterns.length * entrySteps)
  let ok = true
  for (const [name, part] of Object.entries(value)) {
    evaluation.spend(1)
    const own = isObject(declared) && Object.hasOwn(declared, name) ? declared[name] : undefined
    const matching = patterns.flatMap(([pattern, one]) => (evaluation.matches(pattern, name) ? [one] : []))
    const schemas = own === undefined ? matching : [own, ...matching]
    const isLeft = schemas.length === 0
    if (isLeft && additionalProperties === undefined) continue
    const place = below(at, name)
    if (isLeft && additionalProperties === false) ok = evaluation.fail(place, 'is no property that the schema allows')
    else
      for (const one of isLeft ? [additionalProperties ?? true] : schemas)
        ok = part !== undefined && evaluation.evaluate(one, part, place, null) && ok
    found?.keys.add(name)
    if (!ok && evaluation.isEnough(at)) return false
  }
  return ok
}

const dependents: Part = (evaluation, { dependentRequired, dependentSchemas }, value, at, found) => {
  let ok = true
  const required = entriesOf(dependentRequired)
  const schemas = entriesOf(dependentSchemas)
  evaluation.spend((required.length + schemas.length) * entrySteps)
  for (const [name, needed] of required) {
    if (!Object.hasOwn(value, name)) continue
    const others = textsOf(needed)
    evaluation.spend(others.length)
    for (const other of others)
      if (!Object.hasOwn(value, other))
        ok = evaluation.fail(at, `must have \`${shortened(other)}\`, since it has \`${shortened(name)}\``)
  }
  for (const [name, schema] of schemas)
    if (Object.hasOwn(value, name)) ok = evaluation.evaluate(schema, value, at, found) && ok
  return ok
}

export const unevaluatedProperties: Group = (evaluation, schema, value, at, found) => {
  const { unevaluatedProperties: rest } = schema
  if (rest === undefined || found === null || !isObject(value)) return true
  let ok = true
  for (const [name, part] of Object.entries(value)) {
    if (found.keys.has(name)) continue
    ok = evaluation.evaluate(rest, part, below(at, name), null) && ok
    found.keys.add(name)
  }
  return ok
}

function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter(text => typeof text === 'string') : []
}

function entriesOf(value: Json | undefined): [string, Json][] {
  return isObject(value) ? Object.entries(value) : []
}
