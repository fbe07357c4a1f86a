import type { Json, JsonObject } from '../json.ts'
import { type At, below, quiet } from './at.ts'
import { equalText } from './equal.ts'
import type { Evaluation, Group } from './evaluation.ts'
import type { Found } from './found.ts'

/** Every keyword about a list but `unevaluatedItems`. */
export const arrayParts: Group = (evaluation, schema, value, at, found) => {
  if (!Array.isArray(value)) return true
  const steps = [counts, items, contains, unique]
  let ok = true
  for (const step of steps) {
    if (!step(evaluation, schema, value, at, found)) ok = false
    if (!ok && evaluation.isEnough(at)) return false
  }
  return ok
}

type Part = (evaluation: Evaluation, schema: JsonObject, value: Json[], at: At, found: Found | null) => boolean

const counts: Part = (evaluation, { minItems, maxItems }, value, at) => {
  if (typeof minItems === 'number' && value.length < minItems)
    return evaluation.fail(at, `must have at least ${minItems} items`)
  if (typeof maxItems === 'number' && value.length > maxItems)
    return evaluation.fail(at, `must have at most ${maxItems} items`)
  return true
}

const items: Part = (evaluation, { prefixItems, items: rest }, value, at, found) => {
  const first = Array.isArray(prefixItems) ? prefixItems : []
  let ok = true
  for (const [index, item] of value.entries()) {
    const schema = first[index] ?? rest
    if (schema === undefined) break
    ok = evaluation.evaluate(schema, item, below(at, index), null) && ok
    found?.indexes.add(index)
    if (!ok && evaluation.isEnough(at)) return false
  }
  return ok
}

const contains: Part = (evaluation, { contains: schema, minContains, maxContains }, value, at, found) => {
  if (schema === undefined) return true
  let count = 0
  for (const [index, item] of value.entries()) {
    if (!evaluation.evaluate(schema, item, quiet(below(at, index)), null)) continue
    count += 1
    found?.indexes.add(index)
  }
  const least = typeof minContains === 'number' ? minContains : 1
  if (count < least) return evaluation.fail(at, `must have at least ${least} items that match \`contains\``)
  if (typeof maxContains === 'number' && count > maxContains)
    return evaluation.fail(at, `must have at most ${maxContains} items that match \`contains\``)
  return true
}

const unique: Part = (evaluation, { uniqueItems }, value, at) => {
  if (uniqueItems !== true) return true
  const seen = new Set<string>()
  for (const [index, item] of value.entries()) {
    const text = equalText(item)
    evaluation.spend(text.length)
    if (seen.has(text)) return evaluation.fail(below(at, index), 'stands in the list before')
    seen.add(text)
  }
  return true
}

export const unevaluatedItems: Group = (evaluation, schema, value, at, found) => {
  const { unevaluatedItems: rest } = schema
  if (rest === undefined || found === null || !Array.isArray(value)) return true
  let ok = true
  for (const [index, item] of value.entries()) {
    if (found.indexes.has(index)) continue
    ok = evaluation.evaluate(rest, item, below(at, index), null) && ok
    found.indexes.add(index)
  }
  return ok
}
