import type { Patterns } from './patterns.ts'
import { wrappedMatcher } from './wrapped.ts'

/** Half-open ranges of a text, ascending, not touching each other. */
export type Range = [start: number, end: number]

export interface TextMatcher {
  /** Length of the longest stretch that one match covers, in UTF-16 code units; 0 without patterns. */
  longest: number
  /** Every stretch of the text that patterns cover. */
  ranges(text: string): Range[]
  replace(text: string, mask: string): string
}

const tableBits = 15
/** Code units by which longer patterns are told apart: a secret has hundreds of forms, which begin alike. */
const beginning = 12

/**
 * Finds many patterns in one pass: a table over the first four code units of each pattern tells for nearly every position
 * at once that nothing begins there. All patterns have four code units or more.
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
  const longest = patterns.reduce((length, pattern) => Math.max(length, pattern.length), wrapped.longest)

  function ranges(text: string): Range[] {
    const found: Range[] = []
    if (longest === 0) return found
    for (let at = 0; at + 4 <= text.length; at++) {
      if (heads[headAt(text, at)] === 0) continue
      const fits = (one: string) => text.startsWith(one, at)
      const pattern =
        long.get(text.slice(at, at + beginning))?.find(fits) ?? short.get(text.slice(at, at + 4))?.find(fits)
      if (pattern !== undefined) add(found, at, at + pattern.length)
    }
    const across = wrapped.ranges(text)
    return across.length === 0 ? found : merged([...found, ...across])
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

  return { longest, ranges, replace }
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
  const first = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
  const second = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 16)
  return (Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b)) >>> (32 - tableBits)
}
