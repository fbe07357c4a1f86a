export const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
export const base64Url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * What base64 text shows of these bytes wherever they stand in it: for each of the three alignments the characters that
 * the bytes alone determine, and for bytes encoded by themselves the whole text, with and without padding, and the lines
 * that an encoder breaks it into, which may be printed one by one.
 */
export function base64Forms(bytes: Uint8Array, alphabet: string): string[] {
  const whole = encode(bytes, alphabet)
  const padding = '='.repeat((4 - (whole.length % 4)) % 4)
  const cores = [0, 1, 2].map(offset => core(bytes, offset, alphabet))
  const wrapped = lineWidths.flatMap(width => linesOf(core(bytes, 0, alphabet), width))
  return [`${whole}${padding}`, whole, ...cores, ...wrapped]
}

/** Where `base64` and PEM writers break their lines. */
const lineWidths = [76, 64]

function linesOf(text: string, width: number): string[] {
  const lines: string[] = []
  if (text.length > width) for (let at = 0; at < text.length; at += width) lines.push(text.slice(at, at + width))
  return lines
}

function core(bytes: Uint8Array, offset: number, alphabet: string): string {
  const shifted = new Uint8Array(offset + bytes.length)
  shifted.set(bytes, offset)
  const first = Math.ceil((offset * 8) / 6)
  const last = Math.floor((shifted.length * 8) / 6)
  return encode(shifted, alphabet).slice(first, last)
}

/** Without padding. */
function encode(bytes: Uint8Array, alphabet: string): string {
  let text = ''
  let bits = 0
  let pending = 0
  for (const byte of bytes) {
    pending = (pending << 8) | byte
    bits += 8
    while (bits >= 6) {
      bits -= 6
      text += alphabet[(pending >> bits) & 63]
    }
    pending &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + alphabet[(pending << (6 - bits)) & 63]
}
