import { base64, base64Cores, base64Url } from './base64.ts'

/** Fewer characters than this are no pattern: they would match by chance. */
const patternLengthMin = 4

/** Every text that gives a secret away: itself, its lines, and each of them in the encodings that logs carry. */
export function patternsOf(secrets: readonly string[]): string[] {
  const patterns = new Set<string>()
  for (const secret of secrets) {
    for (const part of partsOf(secret)) {
      for (const form of formsOf(part)) if (form.length >= patternLengthMin) patterns.add(form)
    }
  }
  return [...patterns]
}

function partsOf(secret: string): string[] {
  const lines = secret.split(/\r\n|\n|\r/)
  const parts = lines.length === 1 ? [secret] : [secret, ...lines]
  return [...new Set(parts.flatMap(part => [part, part.trim()]))].filter(part => part.length >= patternLengthMin)
}

function formsOf(text: string): string[] {
  const bytes = new TextEncoder().encode(text)
  return [
    text,
    ...base64Cores(bytes, base64),
    ...base64Cores(bytes, base64Url),
    ...percentForms(bytes),
    ...jsonForms(text),
  ]
}

const unreserved = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~'
/** What each usual encoder leaves as it is: RFC 3986, encodeURIComponent, encodeURI, a shell's `jq @uri`, form encoding. */
const literalSets = [
  unreserved,
  `${unreserved}!*'()`,
  `${unreserved}!*'();/?:@&=+$,#`,
  `${unreserved}/`,
  '-_.*'.concat(unreserved.slice(0, 62)),
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

/** As JSON.stringify writes it, with non-ASCII or HTML characters escaped as other encoders do, and JSON within JSON. */
function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1)
  const slashes = plain.replaceAll('/', '\\/')
  const html = plain.replaceAll(/[<>&\u2028\u2029]/g, unicodeEscape)
  const ascii = plain.replaceAll(/[\u007f-\uffff]/g, unicodeEscape)
  const upper = plain.replaceAll(/[\u007f-\uffff]/g, character =>
    unicodeEscape(character).replaceAll(/[a-f]/g, hex => hex.toUpperCase()),
  )
  return [plain, slashes, html, ascii, upper, JSON.stringify(plain).slice(1, -1)]
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
