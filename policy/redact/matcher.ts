/** Half-open ranges of a text, ascending, not touching each other. */
export type Range = [start: number, end: number]

export interface TextMatcher {
  /** Length of the longest pattern, in UTF-16 code units; 0 without patterns. */
  longest: number
  /** Every stretch of the text that patterns cover. */
  ranges(text: string): Range[]
  replace(text: string, mask: string): string
}

const tableBits = 15

/**
 * Finds many patterns in one pass: a table over the first four code units of each pattern tells for nearly every position
 * at once that nothing begins there. All patterns have four code units or more.
 */
export function textMatcher(patterns: readonly string[]): TextMatcher {
  const heads = new Uint8Array(1 << tableBits)
  const byHead = new Map<string, string[]>()
  for (const pattern of patterns) {
    heads[headAt(pattern, 0)] = 1
    const head = pattern.slice(0, 4)
    byHead.set(head, [...(byHead.get(head) ?? []), pattern])
  }
  for (const list of byHead.values()) list.sort((left, right) => right.length - left.length)
  const longest = patterns.reduce((length, pattern) => Math.max(length, pattern.length), 0)

  function ranges(text: string): Range[] {
    const found: Range[] = []
    if (longest === 0) return found
    let current: Range | null = null
    for (let at = 0; at + 4 <= text.length; at++) {
      if (heads[headAt(text, at)] === 0) continue
      const pattern = byHead.get(text.slice(at, at + 4))?.find(one => text.startsWith(one, at))
      if (pattern === undefined) continue
      const end = at + pattern.length
      if (current !== null && at <= current[1]) {
        current[1] = Math.max(current[1], end)
        continue
      }
      current = [at, end]
      found.push(current)
    }
    return found
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

function headAt(text: string, at: number): number {
  const first = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
  const second = text.charCodeAt(at + 2) | (text.charCodeAt(at + 3) << 16)
  return (Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b)) >>> (32 - tableBits)
}
