import fc from 'fast-check'
import { type Redactor, secretRefusal } from '../../policy/redact.ts'

/** Values that may serve as secrets: ordinary ones, any characters, and those that encoders treat in their own ways. */
export const secret = fc
  .oneof(
    fc.string({ minLength: 4, maxLength: 40 }),
    fc.string({ unit: 'grapheme', minLength: 4, maxLength: 20 }),
    fc.string({
      unit: fc.constantFrom(
        'a',
        'B',
        '7',
        '\n',
        '\r\n',
        '\t',
        '"',
        '\\',
        '/',
        ' ',
        '%',
        '+',
        '<',
        '&',
        "'",
        'é',
        '\x01',
      ),
      minLength: 4,
      maxLength: 30,
    }),
  )
  .filter(value => secretRefusal(value) === null)

/** What a stream redactor gives for the text, cut into chunks at these places of its bytes. */
export function streamed(redactor: Redactor, text: string | Uint8Array, cuts: readonly number[]): string {
  const all = typeof text === 'string' ? new TextEncoder().encode(text) : text
  const places = [0, ...cuts.map(cut => cut % (all.length + 1)).sort((left, right) => left - right), all.length]
  const stream = redactor.stream()
  const shown = places.slice(1).map((place, index) => stream.push(all.subarray(places[index], place)))
  return shown.join('') + stream.end()
}

/** The text as a decoder that replaces what is not UTF-8 has it. */
export const decoded = (text: string): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(text))
