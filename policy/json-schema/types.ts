import type { Json } from '../json.ts'

/** One fault of a schema. */
export interface SchemaProblem {
  /** Where it stands in the schema. */
  path: (string | number)[]
  message: string
  /** What to change. */
  help: string
}

/** What is wrong with a value; never a part of the value itself, which may be secret. */
export interface SchemaError {
  /** JSON pointer in the value, cut where it is long; empty for the whole. */
  path: string
  message: string
}

export type Validation = { ok: true } | { ok: false; errors: SchemaError[] }

/** The room's two functions, as a caller that loads them late has them. Both are synchronous and never throw. */
export interface JsonSchemas {
  /** Faults of a schema, at most `schemaLimits.problems`; empty where it can be used. */
  checkSchema(schema: Json): SchemaProblem[]
  /**
   * Whether a value satisfies a schema; at most `schemaLimits.errors` errors. A schema with faults, and a value that takes
   * more than `schemaLimits.steps` to check, satisfy nothing.
   */
  validate(schema: Json, value: Json): Validation
}
