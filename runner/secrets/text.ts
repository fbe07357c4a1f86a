import { secretLengthMin, secretRefusal } from '../../policy/redact.ts'

/** The value that the bytes of a file or of a helper's output give, or why they give none; of the bytes nothing is told. */
export type SecretText = { ok: true; value: string } | { ok: false; cause: string; detail: string }

/**
 * UTF-8 text without exactly one line end at its end. Refuses `secret_not_utf8`, `secret_holds_nul` (no process could be
 * given it), `empty_secret`, `secret_refused` (too short to be hidden). A byte order mark stays.
 */
export function secretText(bytes: Uint8Array): SecretText {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return { ok: false, cause: 'secret_not_utf8', detail: 'is not UTF-8 text' }
  }
  const value = text.replace(/\r?\n$/, '')
  if (value === '') return { ok: false, cause: 'empty_secret', detail: 'is empty' }
  if (value.includes('\0'))
    return { ok: false, cause: 'secret_holds_nul', detail: 'holds a NUL byte, which no process can be given' }
  if (secretRefusal(value) !== null)
    return {
      ok: false,
      cause: 'secret_refused',
      detail: `has fewer than ${secretLengthMin} characters, too short to be hidden in a log`,
    }
  return { ok: true, value }
}
