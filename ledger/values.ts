import { canonical, type Digest, sha256 } from '../policy/canonical.ts'
import type { Json } from '../policy/json.ts'
import { inlineLimitBytes, type Payload } from './payload.ts'
import { LedgerError } from './port.ts'
import { utf8Length } from './sql/contract.ts'

/** JSON text for a cell. Throws LedgerError invalid above 64 KiB: such a value belongs into a blob. */
export function cell(value: Json | object, what: string): string {
  const text = JSON.stringify(value)
  if (text.length * 3 > inlineLimitBytes && utf8Length(text) > inlineLimitBytes + 16) {
    throw new LedgerError('invalid', `The ${what} is over ${inlineLimitBytes} bytes of JSON; store it as a blob.`)
  }
  return text
}

/** Digest of what a payload stands for: of the canonical value, or of the blob, which holds canonical text. */
export function payloadDigest(payload: Payload): Digest {
  return 'blob' in payload ? payload.blob.sha256 : sha256(canonical(payload.inline))
}

/** A value as a payload: inline up to 64 KiB of canonical JSON, else as the blob that `store` makes of its text. */
export function payloadOf(value: Json, store: (bytes: Uint8Array) => { sha256: Digest; bytes: number }): Payload {
  const text = canonical(value)
  if (utf8Length(text) <= inlineLimitBytes) return { inline: value }
  return { blob: store(new TextEncoder().encode(text)) }
}
