import { hexDigit, jsonLevels, shortEscape, unitsMax } from './json-escapes.ts'

/** Places that are judged at once. */
const block = 4096
/** The code units that a head consists of. */
const headUnits = 4
const size = block + headUnits * unitsMax
const none = 0xffff
const backslash = 0x5c

/** Whether a pattern may begin with these four code units. */
export type IsHead = (first: number, second: number, third: number, fourth: number) => boolean

/**
 * Tells where a pattern may begin in JSON text: `readEscaped` for every place and level of a block at once, each level
 * from the one below it, since text of many escapes would be read many times over otherwise. Ask for ascending places.
 */
export function escapedHeads(text: string, isHead: IsHead): (at: number) => boolean {
  const places = Math.min(size, text.length)
  const levels = Array.from({ length: jsonLevels + 1 }, () => ({
    units: new Uint16Array(places),
    ends: new Uint16Array(places),
  }))
  const begins = new Uint8Array(block)
  let from = -block

  function judge(start: number): void {
    from = start
    const length = Math.min(size, text.length - start)
    const [plain, ...escaped] = levels
    if (plain === undefined) return
    for (let at = 0; at < length; at++) {
      plain.units[at] = text.charCodeAt(start + at)
      plain.ends[at] = at + 1
    }
    let below = plain
    for (const level of escaped) {
      readLevel(below, level, length)
      below = level
    }
    for (let at = Math.min(block, length) - 1; at >= 0; at--) begins[at] = beginsAt(escaped, at, length) ? 1 : 0
  }

  function beginsAt(escaped: readonly Level[], at: number, length: number): boolean {
    for (const { units, ends } of escaped) {
      const second = ends[at] ?? none
      const third = second < length ? (ends[second] ?? none) : none
      const fourth = third < length ? (ends[third] ?? none) : none
      if (fourth >= length || ends[fourth] === none) continue
      const a = units[at] ?? 0
      const b = units[second] ?? 0
      const c = units[third] ?? 0
      const d = units[fourth] ?? 0
      if (isHead(a, b, c, d)) return true
      // What shows no backslash is read alike at all further levels.
      if (a !== backslash && b !== backslash && c !== backslash && d !== backslash) return false
    }
    return false
  }

  return at => {
    if (at >= from + block) judge(at)
    return begins[at - from] === 1
  }
}

interface Level {
  /** The code unit that stands at each place. */
  units: Uint16Array
  /** The place behind it; `none` where none can be read. */
  ends: Uint16Array
}

function readLevel(below: Level, level: Level, length: number): void {
  for (let at = 0; at < length; at++) {
    const unit = below.units[at] ?? 0
    const end = below.ends[at] ?? none
    level.units[at] = unit
    level.ends[at] = end
    if (unit === backslash && end !== none) readEscape(below, level, at, end, length)
  }
}

function readEscape(below: Level, level: Level, at: number, kindAt: number, length: number): void {
  level.ends[at] = none
  const kind = below.units[kindAt] ?? 0
  let end = kindAt < length ? (below.ends[kindAt] ?? none) : none
  let unit = 0
  if (kind !== 0x75) unit = shortEscape(kind)
  else {
    for (let digits = 0; digits < 4 && end !== none; digits++) {
      const digit = end < length ? hexDigit(below.units[end] ?? 0) : -1
      unit = unit * 16 + digit
      end = digit < 0 ? none : (below.ends[end] ?? none)
    }
  }
  if (unit < 0 || end === none) return
  level.units[at] = unit
  level.ends[at] = end
}
