import type { Json } from '../json.ts'
import { type At, quiet } from './at.ts'
import type { Evaluation, Group } from './evaluation.ts'
import type { Found } from './found.ts'

export const refers: Group = (evaluation, schema, value, at, found) => {
  const target = evaluation.prepared.targets.get(schema)
  return target === undefined || evaluation.evaluate(target, value, at, found)
}

/** allOf, anyOf, oneOf, not. */
export const combines: Group = (evaluation, schema, value, at, found) => {
  const { allOf, anyOf, oneOf, not } = schema
  let ok = true
  if (Array.isArray(allOf)) for (const one of allOf) ok = evaluation.evaluate(one, value, at, found) && ok
  if (Array.isArray(anyOf) && matching(evaluation, anyOf, value, at, found, 1) === 0)
    ok = evaluation.fail(at, `matches none of the ${anyOf.length} schemas of \`anyOf\``)
  if (Array.isArray(oneOf)) {
    const count = matching(evaluation, oneOf, value, at, found, 2)
    const word = count === 0 ? 'none' : 'more than one'
    if (count !== 1) ok = evaluation.fail(at, `matches ${word} of the ${oneOf.length} schemas of \`oneOf\``)
  }
  if (not !== undefined && evaluation.evaluate(not, value, quiet(at), null))
    ok = evaluation.fail(at, 'matches the schema of `not`')
  return ok
}

/** How many schemas match, counted up to `enough` where nobody asks what they looked at. */
function matching(
  evaluation: Evaluation,
  schemas: readonly Json[],
  value: Json,
  at: At,
  found: Found | null,
  enough: number,
): number {
  let count = 0
  for (const schema of schemas) {
    if (evaluation.evaluate(schema, value, quiet(at), found)) count += 1
    if (count >= enough && found === null) break
  }
  return count
}

/** if, then, else. */
export const chooses: Group = (evaluation, schema, value, at, found) => {
  const { if: condition, then: met, else: unmet } = schema
  if (condition === undefined) return true
  const chosen = evaluation.evaluate(condition, value, quiet(at), found) ? met : unmet
  return chosen === undefined || evaluation.evaluate(chosen, value, at, found)
}
