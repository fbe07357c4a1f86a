import { base64, base64Forms, base64Url } from './base64.ts'

/** Fewer characters than this are no pattern: they would match by chance. */
const patternLengthMin = 4

/** Every text that gives secrets away; each of them may stand escaped as JSON too, which the matcher reads. */
export interface Patterns {
  /** The secrets themselves, and as URLs carry them. */
  texts: string[]
  /** In base64, which encoders break into lines. */
  base64: string[]
}

/** Every text that gives a secret away: itself, its lines, and each of them in base64 and percent-encoded. */
export function patternsOf(secrets: readonly string[]): Patterns {
  const texts = new Set<string>()
  const base64Texts = new Set<string>()
  for (const secret of secrets) {
    for (const part of partsOf(secret)) {
      const bytes = new TextEncoder().encode(part)
      for (const form of [part, ...percentForms(bytes)]) texts.add(form)
      for (const form of [...base64Forms(bytes, base64), ...base64Forms(bytes, base64Url)]) {
        base64Texts.add(form)
        // As a URL carries it.
        texts.add(encodeURIComponent(form))
        texts.add(lowerEscapes(encodeURIComponent(form)))
      }
    }
  }
  const isPattern = (form: string) => form.length >= patternLengthMin
  return { texts: [...texts].filter(isPattern), base64: [...base64Texts].filter(isPattern) }
}

function partsOf(secret: string): string[] {
  const lines = secret.split(/\r\n|\n|\r/)
  const parts = lines.length === 1 ? [secret] : [secret, ...lines]
  return [...new Set(parts.flatMap(part => [part, part.trim()]))].filter(part => part.length >= patternLengthMin)
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const unreserved = `${letters}-_.~`
const printable = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))
const printableBut = (encoded: string) => printable.filter(character => !encoded.includes(character)).join('')

/**
 * What each usual encoder leaves as it is: RFC 3986, encodeURIComponent, encodeURI, Python's `quote`, form encoding, PHP's
 * and .NET's own of forms, Go's of paths; and the URL standard's fragment, query, query of http, path and credentials,
 * which is how a secret stands in a URL that was put together first and parsed then.
 */
const literalSets = [
  unreserved,
  `${unreserved}!*'()`,
  `${unreserved}!*'();/?:@&=+$,#`,
  `${unreserved}/`,
  `${letters}-_.*`,
  `${letters}-_.`,
  `${letters}-_.!*()`,
  `${unreserved}$&+=:@`,
  printableBut('"<>`'),
  printableBut('"#<>'),
  printableBut('"#<>\''),
  printableBut('"#<>?^`{}'),
  printableBut('"#<>?`{}'),
  printableBut('"#<>?^`{}/:;=@[\\]|'),
]

function percentForms(bytes: Uint8Array): string[] {
  return literalSets.flatMap(literals => {
    const upper = percentEncode(bytes, literals)
    const forms = [upper, upper.replaceAll('%20', '+')]
    return forms.flatMap(form => [form, lowerEscapes(form)])
  })
}

function percentEncode(bytes: Uint8Array, literals: string): string {
  let encoded = ''
  for (const byte of bytes) {
    const character = String.fromCharCode(byte)
    const literal = byte < 128 && literals.includes(character)
    encoded += literal ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}

function lowerEscapes(encoded: string): string {
  return encoded.replaceAll(/%[0-9A-F]{2}/g, escaped => escaped.toLowerCase())
}
