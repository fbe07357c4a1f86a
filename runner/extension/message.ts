import type { Json, JsonObject } from '../../policy/json.ts'
import { jsonFault } from '../../policy/json-fault.ts'
import { duplicateKey } from './duplicate-key.ts'

/** What an extension printed, read: an object with exactly the protocol's fields, or why it is none. */
export type Message =
  | { ok: true; fields: JsonObject }
  | { ok: false; code: 'malformed' | 'unknown_field' | 'missing_field'; message: string }

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
  const fault = jsonFault(value)
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

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
