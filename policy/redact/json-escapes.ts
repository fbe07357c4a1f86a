/** JSON within JSON within JSON: a log line that carries an event that carries a payload. */
export const jsonLevels = 3

/** Code units that one code unit takes at most, where every level writes each as `\uXXXX`. */
export const unitsMax = 6 ** jsonLevels
/**
 * How far behind the last `\u` a code unit can still be part of an escape: each level writes the backslash of the next as
 * five code units behind that `\u` at most, and the last one has `uXXXX` there.
 */
const reach = 5 * jsonLevels

const backslash = 0x5c

/**
 * The code unit that stands at a place of JSON text, whoever has written it: as itself, as a short escape or as `\uXXXX`,
 * and so on through that many levels. Answers -1 where the text ends or no encoder writes what stands there, else leaves
 * the place behind it in `cursor.at`. Reads nothing behind the code unit, so that what it
 * answers depends on that stretch alone. `\'` of JavaScript's and Python's strings counts too.
 */
export function readEscaped(text: string, cursor: Cursor, level: number): number {
  if (cursor.at >= text.length) return -1
  const raw = text.charCodeAt(cursor.at)
  if (raw !== backslash || level === 0) {
    cursor.at++
    return raw
  }
  const first = readEscaped(text, cursor, level - 1)
  if (first !== backslash) return first
  const kind = readEscaped(text, cursor, level - 1)
  if (kind !== 0x75) return shortEscape(kind)
  let unit = 0
  for (let digits = 0; digits < 4; digits++) {
    const digit = hexDigit(readEscaped(text, cursor, level - 1))
    if (digit < 0) return -1
    unit = unit * 16 + digit
  }
  return unit
}

/** A place in a text. */
export interface Cursor {
  at: number
}

/**
 * The last place of the text from which on it holds so many code units at every level, wherever reading begins before
 * it; negative where there is none. What is read from further ahead ends within this text, whatever follows it.
 */
export function placeBefore(text: string, units: number): number {
  const earliest = text.length - units * unitsMax
  let left = units
  for (let end = text.length; end > 0 && end > earliest; ) {
    const mark = text.lastIndexOf('\\', end - 1)
    const absorbed = mark < 0 ? 0 : text.charCodeAt(mark + 1) === 0x75 ? reach : 1
    const plain = Math.max(0, end - (mark + 1 + absorbed))
    if (plain >= left) return Math.max(earliest, end - left)
    left -= plain
    end = mark
  }
  return earliest
}

/** What the letter behind a backslash stands for; -1 for none. */
export function shortEscape(kind: number): number {
  switch (kind) {
    case 0x22:
    case 0x27:
    case 0x2f:
    case backslash:
      return kind
    case 0x62:
      return 0x08
    case 0x66:
      return 0x0c
    case 0x6e:
      return 0x0a
    case 0x72:
      return 0x0d
    case 0x74:
      return 0x09
    default:
      return -1
  }
}

/** -1 for no digit. */
export function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
