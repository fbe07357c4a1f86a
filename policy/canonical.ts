import { sha256 as hash } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import serialize from 'canonicalize'
import type { Json } from './json.ts'

/** 64 lower-case hex digits of a SHA-256. */
export type Digest = string

/** RFC 8785 text of a JSON value: the one form in which agentctl digests structured data. */
export function canonical(value: Json): string {
  const text = serialize(value)
  if (text === undefined) throw new TypeError('only JSON values have a canonical form')
  return text
}

/** SHA-256 of bytes, or of a string's UTF-8 bytes, as lower-case hex. */
export function sha256(data: string | Uint8Array): Digest {
  return bytesToHex(hash(typeof data === 'string' ? utf8ToBytes(data) : data))
}

/** SHA-256 over the canonical form of a JSON value. */
export function digest(value: Json): Digest {
  return sha256(canonical(value))
}
