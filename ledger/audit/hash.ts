import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { canonical, type Digest, digest } from '../../policy/canonical.ts'
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
  return digest({ v, ledger, chain, seq, at, actor, type, subject, dataDigest, previous })
}

/** SHA-256 over salt and canonical data: without the salt, erased data cannot be guessed from its digest. */
export function dataDigest(salt: Uint8Array, data: JsonObject): Digest {
  return bytesToHex(sha256(concatBytes(salt, utf8ToBytes(canonical(data)))))
}
