import { base64, base64Forms, base64Url } from './base64.ts'

/** Fewer characters than this are no pattern: they would match by chance. */
const patternLengthMin = 4

/** Every text that gives secrets away. */
export interface Patterns {
  /** The secrets themselves, and as URLs and JSON carry them. */
  texts: string[]
  /** In base64, which encoders break into lines. */
  base64: string[]
}

/** Every text that gives a secret away: itself, its lines, and each of them in the encodings that logs carry. */
export function patternsOf(secrets: readonly string[]): Patterns {
  const texts = new Set<string>()
  const base64Texts = new Set<string>()
  for (const secret of secrets) {
    for (const part of partsOf(secret)) {
      const bytes = new TextEncoder().encode(part)
      for (const form of [part, ...percentForms(bytes), ...jsonForms(part)]) texts.add(form)
      for (const form of [...base64Forms(bytes, base64), ...base64Forms(bytes, base64Url)]) {
        base64Texts.add(form)
        // As a URL and as JSON of some encoders carry it.
        texts.add(encodeURIComponent(form))
        texts.add(lowerEscapes(encodeURIComponent(form)))
        for (const json of base64JsonForms(form)) texts.add(json)
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

/** JSON within JSON within JSON: a log line that carries an event that carries a payload. */
const jsonLevels = 3

/** As JSON carries it to this many levels, each written by any of the encoders. */
function jsonForms(text: string): Set<string> {
  const forms = new Set<string>()
  let level = new Set([text])
  for (let depth = 0; depth < jsonLevels; depth++) {
    level = new Set([...level].flatMap(jsonOnce))
    for (const form of level) forms.add(form)
  }
  return forms
}

/** As JSON.stringify writes it, and as encoders do that escape more, each with `/` escaped too. */
function jsonOnce(text: string): string[] {
  if (!/[\0-\x1f"&'+/<>\\`\u007f-\uffff]/.test(text)) return [text]
  const plain = JSON.stringify(text).slice(1, -1)
  const html = plain.replaceAll(/[<>&\u2028\u2029]/g, unicodeEscape)
  const ascii = plain.replaceAll(/[\u007f-\uffff]/g, unicodeEscape)
  const both = html.replaceAll(/[\u007f-\uffff]/g, unicodeEscape)
  const careful = text.replaceAll(/[\0-\x1f"&'+<>`\\\u007f-\uffff]/g, character => escapeCarefully(character))
  const forms = [...new Set([plain, html, ascii, both, careful])].flatMap(form => [form, upperEscapes(form)])
  return [...new Set(forms.flatMap(form => [form, form.replaceAll('/', '\\/')]))]
}

/**
 * As JSON carries base64, of which only `/` and `+` are ever escaped: a backslash before `/` becomes two, or three where
 * the next level escapes `/` as well, so that at most seven stand there; the one of `\u002b` is only doubled.
 */
function base64JsonForms(form: string): string[] {
  const slashes = Array.from({ length: 2 ** jsonLevels - 1 }, (_, more) =>
    form.replaceAll('/', `${'\\'.repeat(more + 1)}/`),
  )
  const pluses = Array.from({ length: jsonLevels }, (_, level) => '\\'.repeat(2 ** level)).flatMap(backslashes => [
    form.replaceAll('+', `${backslashes}u002b`),
    form.replaceAll('+', `${backslashes}u002B`),
  ])
  return [...slashes, ...pluses]
}

/** What .NET's encoder leaves short, and `\uXXXX` for everything that HTML could take for syntax. */
function escapeCarefully(character: string): string {
  const short = /[\b\t\n\f\r\\]/.test(character) ? JSON.stringify(character).slice(1, -1) : null
  return short ?? unicodeEscape(character)
}

function upperEscapes(escaped: string): string {
  return escaped.replaceAll(/\\u[0-9a-f]{4}/g, code => `\\u${code.slice(2).toUpperCase()}`)
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
