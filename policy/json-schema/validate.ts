import type { Json } from '../json.ts'
import { Evaluation } from './evaluation.ts'
import { schemaLimits } from './limits.ts'
import { type Prepared, prepare } from './prepared.ts'
import type { SchemaProblem, Validation } from './types.ts'

/** One walk for each schema, however often it is used. */
const kept = new WeakMap<object, Prepared>()

function prepared(schema: Json): Prepared {
  if (typeof schema !== 'object' || schema === null) return prepare(schema)
  const known = kept.get(schema) ?? prepare(schema)
  kept.set(schema, known)
  return known
}

/** See JsonSchemas. */
export function checkSchema(schema: Json): SchemaProblem[] {
  return prepared(schema).problems
}

/** See JsonSchemas. */
export function validate(schema: Json, value: Json): Validation {
  const walked = prepared(schema)
  const [problem] = walked.problems
  if (problem !== undefined) return refused(`the schema cannot be used: ${problem.message}`)
  const evaluation = new Evaluation(walked)
  try {
    if (evaluation.check(schema, value)) return { ok: true }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return refused(
      `checking it takes more than ${schemaLimits.steps} steps or is nested too deeply; make schema or value simpler`,
    )
  }
  return { ok: false, errors: evaluation.errors }
}

function refused(message: string): Validation {
  return { ok: false, errors: [{ path: '', message }] }
}
