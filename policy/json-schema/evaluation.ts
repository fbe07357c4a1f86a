import type { Json, JsonObject } from '../json.ts'
import { arrayParts, unevaluatedItems } from './arrays.ts'
import { asserts } from './assertions.ts'
import { type At, pointerOf, start } from './at.ts'
import { chooses, combines, refers } from './combine.ts'
import { type Found, merge, nothingFound } from './found.ts'
import { schemaLimits } from './limits.ts'
import { objectParts, unevaluatedProperties } from './objects.ts'
import type { Prepared } from './prepared.ts'
import { isObject } from './shape.ts'
import type { SchemaError } from './types.ts'

/** Some keywords of a schema on a value: whether it satisfies them. What they look at goes to `found`, null where nobody asks. */
export type Group = (evaluation: Evaluation, schema: JsonObject, value: Json, at: At, found: Found | null) => boolean

/** In this order: the last two need to know what the others have looked at. */
const groups: readonly Group[] = [
  asserts,
  refers,
  combines,
  chooses,
  objectParts,
  arrayParts,
  unevaluatedProperties,
  unevaluatedItems,
]

/** One schema on one value takes about as long as this many characters take to match. */
const evaluationSteps = 10

/** One check of one value. Throws RangeError where it would cost too much. */
export class Evaluation {
  readonly errors: SchemaError[] = []
  readonly prepared: Prepared
  #steps = 0
  #depth = 0

  constructor(prepared: Prepared) {
    this.prepared = prepared
  }

  /** Whether the value as a whole satisfies the schema; else `errors` say why not. */
  check(schema: Json, value: Json): boolean {
    return this.evaluate(schema, value, start, null)
  }

  /** Whether a value satisfies a schema; what was looked at is added to `into` only where it does, null for another value. */
  evaluate(schema: Json, value: Json, at: At, into: Found | null): boolean {
    this.spend(evaluationSteps)
    if (!isObject(schema)) return schema === true || this.fail(at, 'nothing is allowed here')
    this.#depth += 1
    if (this.#depth > schemaLimits.evaluationDepth) throw new RangeError('nested too deeply')
    const found = this.prepared.tracks ? nothingFound() : null
    let ok = true
    for (const group of groups) {
      if (!group(this, schema, value, at, found)) ok = false
      if (!ok && this.isEnough(at)) break
    }
    this.#depth -= 1
    if (ok && into !== null && found !== null) merge(into, found)
    return ok
  }

  /** Whether a text matches a pattern of the schema. */
  matches(source: string, text: string): boolean {
    const pattern = this.prepared.patterns.get(source)
    if (pattern === undefined) return false
    this.spend(1 + text.length * pattern.cost)
    return pattern.matches(text)
  }

  /** Whether there is nothing to be learned from going on after a mismatch. */
  isEnough(at: At): boolean {
    return at.quiet || this.errors.length >= schemaLimits.errors
  }

  fail(at: At, message: string): false {
    if (!this.isEnough(at)) this.errors.push({ path: pointerOf(at), message })
    return false
  }

  spend(steps: number): void {
    this.#steps += steps
    if (this.#steps > schemaLimits.steps) throw new RangeError('too many steps')
  }
}
