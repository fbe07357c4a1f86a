import { withoutHidden } from '../hidden.ts'

/**
 * Markdown out of text that nobody vouches for. Such text only ever stands in a code span or in a fence longer than any
 * of its own, where GitHub makes no heading, link, mention, checkbox or comment of it; what could still deceive the eye
 * (control, bidirectional and invisible characters) or a search for our markers is written as a visible escape.
 */

/** One line of untrusted text as a code span; text over `lengthMax` characters is cut and says so. */
export function code(text: string, lengthMax = 300): string {
  if (text === '') return '(empty)'
  const short = text.length > lengthMax
  const shown = visible(short ? sliceWhole(text, lengthMax) : text, false)
  const fence = '`'.repeat(longestRun(shown, '`') + 1)
  const padding = shown.startsWith('`') || shown.endsWith('`') || shown.trim() === '' ? ' ' : ''
  return `${fence}${padding}${shown}${padding}${fence}${short ? ` (cut, ${text.length} characters)` : ''}`
}

/** Untrusted lines as a fenced block. */
export function fenced(text: string, language = ''): string {
  const shown = visible(text, true)
  const fence = '`'.repeat(Math.max(3, longestRun(shown, '`') + 1))
  return `${fence}${language}\n${shown}${shown.endsWith('\n') ? '' : '\n'}${fence}`
}

/** Code spans of a list, at most `countMax`; the rest is counted. */
export function codeList(texts: readonly string[], countMax = 20): string {
  const shown = texts.slice(0, countMax).map(text => code(text, 100))
  const more = texts.length - shown.length
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`
}

/** A title: one line of plain text, at most 200 characters. */
export function plainLine(text: string): string {
  const line = visible(text, false)
  return line.length > 200 ? `${sliceWhole(line, 199)}…` : line
}

/** A mention that GitHub will notify, or the text as code where it is no login or team. */
export function mention(text: string): string {
  const name = text.slice(1)
  const isName =
    text.startsWith('@') && name !== '' && Array.from(name).every(isNameCharacter) && name.split('/').length <= 2
  return isName ? text : code(text)
}

/** `2026-03-01 12:00 UTC` of an ISO time. */
export function minuteOf(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return code(iso)
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** `1 item`, `2 items`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function visible(text: string, keepLines: boolean): string {
  // Most text is plain ASCII, where nothing can hide.
  if ((keepLines ? /^[ -~\n\t]*$/ : /^[ -~]*$/).test(text)) return text.replaceAll('<!--', '<\\u{21}--')
  return withoutHidden(text, keepLines).replaceAll('<!--', '<\\u{21}--')
}

/** At most `length` code units, never half a character. */
function sliceWhole(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

function longestRun(text: string, mark: string): number {
  let longest = 0
  let run = 0
  for (const character of text) {
    run = character === mark ? run + 1 : 0
    longest = Math.max(longest, run)
  }
  return longest
}

function isNameCharacter(character: string): boolean {
  return (
    (character >= 'a' && character <= 'z') ||
    (character >= 'A' && character <= 'Z') ||
    (character >= '0' && character <= '9') ||
    '-_/'.includes(character)
  )
}
