import { canonical, type Digest, sha256 } from '../../policy/canonical.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { AuditLine } from '../types.ts'

/** `previous` of a chain's first event. */
export const firstPrevious: Digest = '0'.repeat(64)

/** What an event's hash covers. */
export type HashedFields = Pick<
  AuditLine,
  'v' | 'ledger' | 'chain' | 'seq' | 'at' | 'actor' | 'type' | 'subject' | 'dataDigest' | 'previous'
>

/** Hash of an event: SHA-256 over the canonical form of its fields, the previous hash among them. */
export function eventHash(fields: HashedFields): Digest {
  const { v, ledger, chain, seq, at, actor, type, subject, dataDigest, previous } = fields
  return sha256(canonical({ v, ledger, chain, seq, at, actor, type, subject, dataDigest, previous }))
}

const encoder = new TextEncoder()

/** SHA-256 over salt and canonical data: without the salt, erased data cannot be guessed from its digest. */
export function dataDigest(salt: Uint8Array, data: JsonObject): Digest {
  const text = canonical(data)
  // Three bytes are the most that one UTF-16 unit takes.
  const bytes = new Uint8Array(salt.length + text.length * 3)
  bytes.set(salt)
  const { written } = encoder.encodeInto(text, bytes.subarray(salt.length))
  return sha256(bytes.subarray(0, salt.length + written))
}
