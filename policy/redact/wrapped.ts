import { byHeads, type Range } from './matcher.ts'

/** Line ends as a text has them, and as JSON escapes them, JSON within JSON to three levels too. */
const breaks = /\r?\n|(?:\\{1,4}r)?\\{1,4}n/g
const breakHere = new RegExp(breaks.source, 'y')
/** Blanks by which a document indents the next line. */
const indentMax = 8
/** A line end and its blanks; after a longer line end fewer of them, since a stream keeps as much back. */
const breakLengthMax = 4 + indentMax
/** No encoder writes narrower lines than these. */
const widthMin = 16

export interface WrappedMatcher {
  /** Length of the longest stretch that one match covers, in UTF-16 code units; 0 without patterns. */
  longest: number
  /** Every stretch that a pattern covers across line ends; ascending by line, not merged. */
  ranges(text: string): Range[]
}

/**
 * Finds base64 patterns that an encoder has broken into lines, wherever the lines end. Whether a pattern stands at a place
 * depends only on the text from there to its end, so that a stream finds what the whole text does.
 */
export function wrappedMatcher(patterns: readonly string[]): WrappedMatcher {
  const heads = byHeads(patterns)
  const longestPattern = patterns.reduce((length, pattern) => Math.max(length, pattern.length), 0)

  function ranges(text: string): Range[] {
    const found: Range[] = []
    if (longestPattern === 0) return found
    for (const { index } of text.matchAll(breaks)) {
      for (let at = runBefore(text, index, longestPattern); at < index; at++) {
        const end = endAt(text, at)
        if (end > at) found.push([at, end])
      }
    }
    return found
  }

  function endAt(text: string, at: number): number {
    let head = text.slice(at, at + 4)
    if (/[\r\n\\]/.test(head)) head = headAcross(text, at)
    for (const pattern of heads.get(head) ?? []) {
      const end = endOf(text, at, pattern)
      if (end > at) return end
    }
    return -1
  }

  const longest = longestPattern === 0 ? 0 : longestPattern + breaksMax(longestPattern) * breakLengthMax
  return { longest, ranges }
}

function breaksMax(length: number): number {
  return Math.ceil(length / widthMin) + 1
}

/** Where the characters that base64 consists of begin, of which the last stands before `end`. */
function runBefore(text: string, end: number, longest: number): number {
  let start = end
  while (start > 0 && end - start < longest && isBase64(text.charCodeAt(start - 1))) start--
  return start
}

function isBase64(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x2f && code <= 0x39) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x5f ||
    code === 0x3d
  )
}

function headAcross(text: string, from: number): string {
  let head = ''
  for (let at = from; head.length < 4 && at < text.length; ) {
    const next = afterBreak(text, at)
    if (next === at) head += text[at++]
    else at = next
  }
  return head
}

/** End of the pattern that stands at `from`, line ends left out; -1 where it does not. */
function endOf(text: string, from: number, pattern: string): number {
  let at = from
  let left = breaksMax(pattern.length)
  for (let read = 0; read < pattern.length; ) {
    if (text.charCodeAt(at) === pattern.charCodeAt(read)) {
      at++
      read++
      continue
    }
    const next = read === 0 ? at : afterBreak(text, at)
    if (next === at || left === 0) return -1
    left--
    at = next
  }
  return at
}

/** The place behind the line end that stands here, its indentation included; the same place where there is none. */
function afterBreak(text: string, at: number): number {
  breakHere.lastIndex = at
  if (!breakHere.test(text)) return at
  let end = breakHere.lastIndex
  for (
    let blanks = 0;
    blanks < indentMax && end - at < breakLengthMax && (text[end] === ' ' || text[end] === '\t');
    blanks++
  )
    end++
  return end
}
