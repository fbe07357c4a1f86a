import { z } from 'zod'
import { secretReferenceSchema } from '../../decision/schema.ts'
import type { JsonObject } from '../../json.ts'

/** Bounds that several parts of a document share. */
export const bounds = {
  timeoutSeconds: 86_400,
  outputBytes: 16_777_216,
  nameCharacters: 200,
} as const

/** Marks a fault of `jsonObject`, so that it is told like any other wrong type. */
export const notAnObject = 'must be a map'

/**
 * Any JSON object. The parser has already made sure that it holds JSON only, so it is taken as it is: copied, a document
 * that is mostly data would be held twice.
 */
export const jsonObject = z.custom<JsonObject>(isObject, { error: notAnObject }).meta({ type: 'object' })

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A JSON Schema of draft 2020-12. */
export const jsonSchemaSchema = z.union([z.boolean(), jsonObject]).describe('JSON Schema, draft 2020-12')

/** The rule that a fault in a secret reference names; it also tells such a fault from others. */
export const secretReferenceRule =
  'a secret reference is exactly one of {env: NAME}, {file: PATH} and {process: {command, args, timeoutSeconds, outputLimitBytes}}'

/** Where a value that must stay secret is read from. */
export const secretReference = secretReferenceSchema.describe(secretReferenceRule)

/** A name that something else in the document refers to. */
export const name = z.string().min(1).max(bounds.nameCharacters)

/** Task ids stand in templates, comments, trace ids and as keys, hence the narrow alphabet and the one name left out. */
export const taskId = z
  .string()
  .max(bounds.nameCharacters)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_-]*$/, 'letters, digits, `_` and `-`, starting with no `-`')
  .refine(id => id !== '__proto__', 'this name is not accepted; choose another one')

export const timeoutSeconds = z.int().min(1).max(bounds.timeoutSeconds)

export const retry = z
  .strictObject({
    maxAttempts: z.int().min(1).max(20).default(1),
    backoffMs: z.int().min(0).max(60_000).default(0),
  })
  .prefault({})
  .describe('how often and how far apart definite, retry-safe failures are repeated')

/** A path relative to the document's directory that stays inside the workspace. */
export const relativePath = z.string().min(1).max(1024)

/** SHA-256 of a file's bytes. */
export const integrity = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, '`sha256:` and 64 lower-case hex digits')
  .describe("SHA-256 of the file's bytes, checked before anything of it is read: `sha256:` and 64 hex digits")
