import { escapedHeads } from './escaped-heads.ts'
import { jsonLevels, placeBefore, readEscaped } from './json-escapes.ts'
import type { Patterns } from './patterns.ts'
import { wrappedMatcher } from './wrapped.ts'

/** Half-open ranges of a text, ascending, not touching each other. */
export type Range = [start: number, end: number]

export interface TextMatcher {
  /** Up to which place of a text that goes on the matches that begin are known already; none begins later than there. */
  settled(text: string): number
  /** Every stretch of the text that patterns cover. */
  ranges(text: string): Range[]
  replace(text: string, mask: string): string
}

const tableBits = 17
/** Code units by which longer patterns are told apart: a secret has hundreds of forms, which begin alike. */
const beginning = 12

/**
 * Finds many patterns in one pass, as they are and as JSON of any encoder has them: a table over the first four code units
 * of each pattern tells for nearly every position at once that nothing begins there. All patterns have four code units or
 * more. Whether one stands at a place depends only on the stretch that it covers, so that a stream finds what the whole
 * text does, and a mask makes no new match.
 */
export function textMatcher({ texts, base64 }: Patterns): TextMatcher {
  const patterns = [...texts, ...base64]
  const heads = new Uint8Array(1 << tableBits)
  for (const pattern of patterns) heads[headAt(pattern, 0)] = 1
  const long = byFirst(
    patterns.filter(pattern => pattern.length >= beginning),
    beginning,
  )
  const short = byHeads(patterns.filter(pattern => pattern.length < beginning))
  const wrapped = wrappedMatcher(base64)
  const longest = patterns.reduce((length, pattern) => Math.max(length, pattern.length), 0)

  function ranges(text: string): Range[] {
    const found: Range[] = []
    if (longest === 0) return found
    let mark = text.indexOf('\\')
    const beginsEscaped = mark < 0 ? null : escapedHeads(text, isHead)
    for (let at = 0; at + 4 <= text.length; at++) {
      if (mark >= 0 && mark < at) mark = text.indexOf('\\', at)
      const isEscaped = mark >= 0 && mark < at + 4
      const begins = heads[headAt(text, at)] === 1
      if (!begins && !(isEscaped && beginsEscaped?.(at) === true)) continue
      let end = begins ? endPlain(text, at) : -1
      if (mark >= 0 && mark < at + longest) end = Math.max(end, endEscaped(text, at))
      if (end > at) add(found, at, end)
    }
    const across = wrapped.ranges(text)
    return across.length === 0 ? found : merged([...found, ...across])
  }

  function endPlain(text: string, at: number): number {
    const fits = (one: string) => text.startsWith(one, at)
    const pattern =
      long.get(text.slice(at, at + beginning))?.find(fits) ?? short.get(text.slice(at, at + 4))?.find(fits)
    return pattern === undefined ? -1 : at + pattern.length
  }

  function isHead(first: number, second: number, third: number, fourth: number): boolean {
    return heads[hashOf(first, second, third, fourth)] === 1
  }

  /** End of the match that reaches furthest, of all levels. */
  function endEscaped(text: string, at: number): number {
    let furthest = -1
    for (let level = 1; level <= jsonLevels; level++) {
      const head = readHead(text, at, level)
      const candidates = [long.get(head), short.get(head.slice(0, 4))]
      for (const list of candidates) {
        for (const pattern of list ?? []) furthest = Math.max(furthest, endOfEscaped(text, at, level, pattern))
      }
      // What shows no backslash is read alike at all further levels.
      const isLast = head.length === beginning && !head.includes('\\') && candidates.every(list => list === undefined)
      if (isLast) break
    }
    return furthest
  }

  function settled(text: string): number {
    if (longest === 0) return text.length
    return Math.max(0, Math.min(placeBefore(text, longest), text.length - wrapped.longest) + 1)
  }

  function replace(text: string, mask: string): string {
    const hidden = ranges(text)
    if (hidden.length === 0) return text
    let shown = ''
    let from = 0
    for (const [start, end] of hidden) {
      shown += text.slice(from, start) + mask
      from = end
    }
    return shown + text.slice(from)
  }

  return { settled, ranges, replace }
}

/** The first code units of what stands here at that level of JSON, fewer where it cannot be read further. */
function readHead(text: string, at: number, level: number): string {
  const cursor = { at }
  let head = ''
  while (head.length < beginning) {
    const unit = readEscaped(text, cursor, level)
    if (unit < 0) break
    head += String.fromCharCode(unit)
  }
  return head
}

/** End of the pattern that stands here at that level of JSON; -1 where it does not. */
function endOfEscaped(text: string, at: number, level: number, pattern: string): number {
  const cursor = { at }
  for (let index = 0; index < pattern.length; index++) {
    if (readEscaped(text, cursor, level) !== pattern.charCodeAt(index)) return -1
  }
  return cursor.at
}

/** Patterns by their first four code units, the longest first. */
export function byHeads(patterns: readonly string[]): Map<string, string[]> {
  return byFirst(patterns, 4)
}

function byFirst(patterns: readonly string[], units: number): Map<string, string[]> {
  const heads = new Map<string, string[]>()
  for (const pattern of patterns) {
    const head = pattern.slice(0, units)
    const list = heads.get(head)
    if (list === undefined) heads.set(head, [pattern])
    else list.push(pattern)
  }
  for (const list of heads.values()) list.sort((left, right) => right.length - left.length)
  return heads
}

function merged(ranges: Range[]): Range[] {
  const result: Range[] = []
  for (const [start, end] of ranges.sort((left, right) => left[0] - right[0])) add(result, start, end)
  return result
}

/** Appends a range that begins no earlier than those before it; one that touches the last is joined to it. */
function add(ranges: Range[], start: number, end: number): void {
  const last = ranges.at(-1)
  if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
  else ranges.push([start, end])
}

function headAt(text: string, at: number): number {
  return hashOf(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3))
}

function hashOf(first: number, second: number, third: number, fourth: number): number {
  const mixed = Math.imul(first | (second << 16), 0x9e3779b1) ^ Math.imul(third | (fourth << 16), 0x85ebca6b)
  return mixed >>> (32 - tableBits)
}
