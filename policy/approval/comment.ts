/**
 * The one grammar of approving comments. It knows nothing of a pause: which token names an item, and whether plain words
 * count, is decided by `bindCommand`. One pass, linear, no regular expression touches the text.
 */
export type CommentCommand =
  | {
      verb: 'approve' | 'reject'
      /** A bare word, `lgtm`, instead of a slash command. */
      isPlain: boolean
      /** The words after the verb, of which the first may name items. */
      tokens: string[]
      /** All that follows the verb; `reasonFrom` gives what is left once items are taken off. */
      rest: string
    }
  | { verb: 'cancel'; reason: string }
  | { verb: 'status' }

/** Words that decide when they stand alone, with an optional `.` or `!`. */
export const plainWords = {
  approve: ['approve', 'approved', 'lgtm', 'yes'],
  reject: ['deny', 'denied', 'reject', 'no'],
} as const

/** Longer bodies are not read: GitHub's own limit is 65,536 characters. */
const bodyLengthMax = 70_000
/** Words after these are reason in any case: nobody names that many items. */
const tokensMax = 1000

/** The command of a comment, null where its first line is none. Later lines never count. */
export function parseComment(body: string): CommentCommand | null {
  if (body.length > bodyLengthMax) return null
  const line = firstLine(body)
  return line === null ? null : parseLine(line)
}

/** `rest` without its first `count` words: the reason that people gave. */
export function reasonFrom(rest: string, count: number): string {
  let at = 0
  for (let word = 0; word < count; word++) {
    while (at < rest.length && isSpace(rest[at])) at++
    while (at < rest.length && !isSpace(rest[at])) at++
  }
  return trimmed(rest.slice(at))
}

/** The number of `7` or `#7`, null for any other word. */
export function itemNumber(token: string): number | null {
  const digits = token.startsWith('#') ? token.slice(1) : token
  if (digits === '') return null
  for (const digit of digits) if (digit < '0' || digit > '9') return null
  return Number(digits)
}

function parseLine(line: string): CommentCommand | null {
  const plain = plainWord(line)
  if (plain !== null) return { verb: plain, isPlain: true, tokens: [], rest: '' }
  if (!line.startsWith('/')) return null
  const end = endOfWord(line)
  const verb = withoutBackticks(line.slice(1, end)).toLowerCase()
  const rest = trimmed(line.slice(end))
  if (verb === 'approve' || verb === 'reject') return { verb, isPlain: false, tokens: words(rest), rest }
  if (verb === 'cancel') return { verb, reason: rest }
  return verb === 'status' ? { verb } : null
}

function plainWord(line: string): 'approve' | 'reject' | null {
  if (line.length > 20) return null
  const last = line.at(-1)
  const word = (last === '.' || last === '!' ? line.slice(0, -1) : line).toLowerCase()
  if ((plainWords.approve as readonly string[]).includes(word)) return 'approve'
  return (plainWords.reject as readonly string[]).includes(word) ? 'reject' : null
}

/** The first line left once blank, quoted, fenced and HTML-comment lines are dropped, trimmed; null where none is left. */
function firstLine(body: string): string | null {
  let fence: Fence | null = null
  let isComment = false
  for (const raw of lines(body)) {
    if (isComment) {
      isComment = !raw.includes('-->')
      continue
    }
    const line = raw.trim()
    if (fence !== null) {
      if (closes(fence, line)) fence = null
      continue
    }
    const opened = opensFence(line)
    if (opened !== null) {
      fence = opened
      continue
    }
    if (line.startsWith('<!--')) {
      isComment = !line.slice(2).includes('-->')
      continue
    }
    if (line.startsWith('>')) continue
    const text = trimmed(line)
    if (text !== '') return text
  }
  return null
}

interface Fence {
  mark: string
  length: number
}

/** A run of three or more backticks or tildes; after backticks no further one may follow, else it is a code span. */
function opensFence(line: string): Fence | null {
  const mark = line[0]
  if (mark !== '`' && mark !== '~') return null
  const length = runLength(line, mark)
  if (length < 3 || (mark === '`' && line.includes('`', length))) return null
  return { mark, length }
}

function closes(fence: Fence, line: string): boolean {
  return line.length >= fence.length && runLength(line, fence.mark) === line.length
}

function runLength(line: string, mark: string): number {
  let length = 0
  while (line[length] === mark) length++
  return length
}

function* lines(body: string): Generator<string> {
  let start = 0
  for (let at = 0; at < body.length; at++) {
    const character = body[at]
    if (character !== '\n' && character !== '\r') continue
    yield body.slice(start, at)
    if (character === '\r' && body[at + 1] === '\n') at++
    start = at + 1
  }
  yield body.slice(start)
}

function words(text: string): string[] {
  const found: string[] = []
  for (let at = 0; at < text.length && found.length < tokensMax; ) {
    const end = endOfWord(text, at)
    found.push(withoutBackticks(text.slice(at, end)))
    at = end
    while (at < text.length && isSpace(text[at])) at++
  }
  return found
}

function endOfWord(text: string, from = 0): number {
  let end = from
  while (end < text.length && !isSpace(text[end])) end++
  return end
}

function trimmed(text: string): string {
  return strip(text, character => character === '`' || isSpace(character))
}

function withoutBackticks(word: string): string {
  return strip(word, character => character === '`')
}

function strip(text: string, isOuter: (character: string | undefined) => boolean): string {
  let start = 0
  let end = text.length
  while (start < end && isOuter(text[start])) start++
  while (end > start && isOuter(text[end - 1])) end--
  return text.slice(start, end)
}

/** Spaces that pasted text brings along, zero-width ones included. */
const spaces: ReadonlySet<string> = new Set(
  ' \t\u000b\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff\u200b\u200c\u200d\u2060',
)

function isSpace(character: string | undefined): boolean {
  return character !== undefined && (spaces.has(character) || (character >= '\u2000' && character <= '\u200a'))
}
