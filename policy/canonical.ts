import { sha256 as hash } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Json } from './json.ts'

/** 64 lower-case hex digits of a SHA-256. */
export type Digest = string

const encoder = new TextEncoder()

/**
 * RFC 8785 text of a JSON value: the one form in which agentctl digests structured data. A field that is undefined counts
 * as absent. Throws TypeError for what JSON cannot carry: non-finite numbers, lone surrogates, functions.
 *
 * ECMAScript's own number and string forms are those of RFC 8785; only the order of keys is left to do.
 */
export function canonical(value: Json): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return String(value === 0 ? 0 : value)
  } else if (typeof value === 'boolean' || value === null) return String(value)
  else if (Array.isArray(value)) return canonicalList(value)
  else if (typeof value === 'object') return canonicalObject(value)
  throw new TypeError('only JSON values have a canonical form')
}

function canonicalList(list: Json[]): string {
  let text = '['
  for (let at = 0; at < list.length; at++) text += (at === 0 ? '' : ',') + canonical(list[at] ?? null)
  return `${text}]`
}

function canonicalObject(object: { [key: string]: Json | undefined }): string {
  const keys = Object.keys(object)
  // The default order is by UTF-16 code units, as RFC 8785 wants it.
  if (keys.length > 1) keys.sort()
  let text = ''
  for (const key of keys) {
    const field = object[key]
    if (field === undefined) continue
    text += `${text === '' ? '' : ','}${quote(key)}:${canonical(field)}`
  }
  return `{${text}}`
}

/** Most strings need no escape, and asking is cheaper than escaping. */
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/

function quote(text: string): string {
  if (!escaped.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new TypeError('a lone surrogate has no canonical form')
  return JSON.stringify(text)
}

/**
 * The platform's own synchronous SHA-256 where it has one (Node): a start and a commit take several digests, and the
 * difference is a good part of their time. A browser has no `process`, and workerd no node:crypto unless asked to.
 */
const platform = globalThis.process?.getBuiltinModule?.('node:crypto')

/** SHA-256 of bytes, or of a string's UTF-8 bytes, as lower-case hex. */
export function sha256(data: string | Uint8Array): Digest {
  if (typeof platform?.hash === 'function') return platform.hash('sha256', data, 'hex')
  return bytesToHex(hash(typeof data === 'string' ? encoder.encode(data) : data))
}

/** SHA-256 of a text that is handed over in parts, so that a large one never stands in memory as a whole. */
export function sha256OfParts(parts: Iterable<string>): Digest {
  const state = platform?.createHash('sha256') ?? hash.create()
  for (const part of parts) state.update(encoder.encode(part))
  return bytesToHex(state.digest())
}

/** SHA-256 over the canonical form of a JSON value. */
export function digest(value: Json): Digest {
  return sha256(canonical(value))
}
