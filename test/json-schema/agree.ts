import fc from 'fast-check'
import type { Json } from '../../policy/json.ts'
import { checkSchema, validate } from '../../policy/json-schema/index.ts'
import { ajvOf, schemas, values } from './agreement.ts'

/** Runs both validators over random schemas, several values each; throws with the smallest pair on which they differ. */
export function agree(runs: number): { checked: number; accepted: number } {
  const seen = { checked: 0, accepted: 0 }
  const property = fc.property(schemas, fc.array(values, { minLength: 1, maxLength: 6 }), (schema, samples) => {
    const theirs = ajvOf(schema)
    if (theirs === null) return
    const problems = checkSchema(schema)
    if (problems.length > 0) throw new Error(`refused: ${JSON.stringify(problems)} in ${JSON.stringify(schema)}`)
    for (const value of samples) compare(schema, value, theirs(value), seen)
  })
  fc.assert(property, { numRuns: runs, endOnFailure: false })
  return seen
}

function compare(schema: Json, value: Json, expected: boolean, seen: { checked: number; accepted: number }): void {
  const ours = validate(schema, value)
  seen.checked += 1
  if (ours.ok) seen.accepted += 1
  if (ours.ok !== expected)
    throw new Error(
      `ajv says ${expected}: ${JSON.stringify(schema)} on ${JSON.stringify(value)}: ${JSON.stringify(ours)}`,
    )
}
