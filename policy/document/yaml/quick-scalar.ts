import type { CST } from 'yaml'
import type { Json } from '../../json.ts'

/** The value of a plain scalar by the core schema; undefined for one that is folded, unsafe or in doubt. */
export function quickPlain(source: string): Json | undefined {
  if (source.includes('\n') || doubtful.test(source)) return undefined
  const first = source.charCodeAt(0)
  if (isNumeric(first)) return quickNumber(source)
  if (words.has(source)) return words.get(source) ?? null
  return source
}

/** Characters that a plain scalar may not start with, and line ends or tabs that would need a second look. */
const doubtful = /^[,%|>@`\t]|[\r\t]/

const words = new Map<string, Json>([
  ['', null],
  ['~', null],
  ['null', null],
  ['Null', null],
  ['NULL', null],
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
])

/** Digits, sign or dot: what may be a number. */
function isNumeric(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46
}

function quickNumber(source: string): Json | undefined {
  // Other radixes and what is no finite number are rare enough for the long way.
  if (/^0[ox]|^[-+]?\.(?:inf|nan)$/i.test(source)) return undefined
  const whole = /^[-+]?[0-9]+$/.test(source)
  if (!whole && !/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(source)) return source
  const value = whole ? Number.parseInt(source, 10) : Number.parseFloat(source)
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return value === 0 ? 0 : value
}

/** The text of a quoted scalar on one line, with no escapes but those that JSON shares. */
export function quickQuoted(source: string): string | undefined {
  const quote = source[0]
  if (source.length < 2 || source.at(-1) !== quote || /[\n\r\t]/.test(source)) return undefined
  if (quote === "'") return source.slice(1, -1).replaceAll("''", "'")
  if (!source.includes('\\')) return source.slice(1, -1)
  if (!/^"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"$/.test(source)) return undefined
  const text: unknown = JSON.parse(source)
  return typeof text === 'string' && text.isWellFormed() ? text : undefined
}

/** The text of a literal block with plain chomping whose first line sets its indent. */
export function quickBlock(token: CST.BlockScalar): string | undefined {
  const [header, ...rest] = token.props as CST.SourceToken[]
  if (header?.source !== '|' && header?.source !== '|-') return undefined
  if (rest.some(({ type }) => type !== 'space' && type !== 'newline') || /[\r\t]/.test(token.source)) return undefined

  const lines = token.source.split('\n')
  const indent = indentOf(lines[0] ?? '')
  if (indent === 0 || indent === (lines[0] ?? '').length) return undefined
  const margin = ' '.repeat(indent)
  const shown: string[] = []
  for (const line of lines) {
    if (line.startsWith(margin) && line.length > indent) shown.push(line.slice(indent))
    else if (indentOf(line) === line.length) shown.push('')
    else return undefined
  }
  while (shown.at(-1) === '') shown.pop()
  return shown.join('\n') + (header.source === '|' ? '\n' : '')
}

function indentOf(line: string): number {
  let at = 0
  while (line.charCodeAt(at) === 32) at++
  return at
}
