import type { Json, JsonObject } from '../../policy/json.ts'
import { duplicateKey } from './duplicate-key.ts'

/** What an extension printed, read: an object with exactly the protocol's fields, or why it is none. */
export type Message =
  | { ok: true; fields: JsonObject }
  | { ok: false; code: 'malformed' | 'unknown_field' | 'missing_field'; message: string }

/** Levels of nesting that a message may have, as a document may. */
const depthMax = 64

/**
 * Reads one message: UTF-8 without a byte order mark, one JSON object and nothing after it, `fields` and no others, no key
 * of an object twice, and only values that agentctl can carry on unchanged.
 */
export function readMessage(bytes: Uint8Array, fields: readonly string[]): Message {
  if (bytes.length === 0) return malformed('it printed nothing')
  let text: string
  let value: Json
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    value = JSON.parse(text)
  } catch {
    return malformed('it is not one JSON object in UTF-8 and nothing else')
  }
  if (!isObject(value)) return malformed('it is no JSON object')
  const fault = faultOf(value, 1)
  if (fault !== null) return malformed(fault)
  const duplicate = duplicateKey(text)
  if (duplicate !== null) return malformed(`the key ${JSON.stringify(duplicate.slice(0, 100))} stands in it twice`)
  const missing = fields.find(field => !Object.hasOwn(value, field))
  if (missing !== undefined) return { ok: false, code: 'missing_field', message: `it has no \`${missing}\`` }
  const unknown = Object.keys(value).find(field => !fields.includes(field))
  if (unknown === undefined) return { ok: true, fields: value }
  return { ok: false, code: 'unknown_field', message: `it has the unknown field \`${unknown.slice(0, 100)}\`` }
}

function malformed(message: string): Message {
  return { ok: false, code: 'malformed', message }
}

/** What in a value could not be recorded, or would change on the way. */
function faultOf(value: Json, depth: number): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : 'a text in it holds half of a surrogate pair'
  if (typeof value === 'number') return numberFault(value)
  if (typeof value !== 'object' || value === null) return null
  if (depth > depthMax) return `it is nested more than ${depthMax} levels deep`
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') return 'a key in it is `__proto__`'
    const fault = faultOf(key, depth) ?? faultOf(member, depth + 1)
    if (fault !== null) return fault
  }
  return null
}

function numberFault(value: number): string | null {
  if (!Number.isFinite(value)) return 'a number in it is too large'
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value)
  return isExact ? null : 'a whole number in it is beyond 2^53 - 1 and would lose digits; print it as a text'
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
