import type { Json } from '../../json.ts'

/** The four things that a template may read. */
export const roots = ['inputs', 'vars', 'memory', 'tasks'] as const
export type Root = (typeof roots)[number]

/** `inputs.PATH`, `vars.PATH`, `memory.PATH`, `tasks.ID.output[.PATH]`; in a loop's guard also `loop.output[.PATH]`. */
export interface Reference {
  root: Root | 'loop'
  /** Task id under `tasks`, null elsewhere. */
  task: string | null
  /** Keys below the root, or below the task's output. */
  path: string[]
  /** As written. */
  text: string
}

export const operators = ['==', '!=', '<=', '>=', '<', '>'] as const
export type Operator = (typeof operators)[number]

/** What stands between `${{` and `}}`: a path alone, or a condition over one path. */
export interface Expression {
  reference: Reference
  negated: boolean
  /** null for a path alone. */
  comparison: { operator: Operator; literal: Json } | null
  /** As written, without the braces. */
  text: string
}

export type Parsed<Value> = { ok: true; value: Value; end: number } | { ok: false; message: string }

/**
 * Parses one expression that starts at `start` and ends before `close` (`}}`, or the end of the text where `close` is
 * null). `end` is the offset behind the closing braces. Every character is looked at a bounded number of times.
 */
export function parseExpression(text: string, start: number, close: '}}' | null): Parsed<Expression> {
  let at = skipSpaces(text, start)
  const from = at
  let negated = false
  if (text.startsWith('not', at) && isSpace(text.charCodeAt(at + 3))) {
    negated = true
    at = skipSpaces(text, at + 3)
  }

  const pathEnd = skipPath(text, at)
  if (pathEnd === at) return refuse(text, at, close)
  const reference = parseReference(text.slice(at, pathEnd))
  if (!reference.ok) return reference

  at = skipSpaces(text, pathEnd)
  let comparison: Expression['comparison'] = null
  const operator = operators.find(candidate => text.startsWith(candidate, at))
  if (operator !== undefined) {
    const literal = parseLiteral(text, skipSpaces(text, at + operator.length), close)
    if (!literal.ok) return literal
    if (operator.length === 1 || operator === '<=' || operator === '>=') {
      if (typeof literal.value !== 'number') {
        return fail(`\`${operator}\` compares numbers; ${JSON.stringify(literal.value)} is none`)
      }
    }
    comparison = { operator, literal: literal.value }
    at = skipSpaces(text, literal.end)
  }

  const closed = close === null ? at === text.length : text.startsWith(close, at)
  if (!closed) return refuse(text, at, close)
  const expression = { reference: reference.value, negated, comparison, text: text.slice(from, at).trimEnd() }
  return { ok: true, value: expression, end: at + (close?.length ?? 0) }
}

function parseReference(text: string): Parsed<Reference> {
  const [root, ...rest] = text.split('.')
  const known = root === 'loop' ? root : roots.find(name => name === root)
  if (known === undefined) return fail(`\`${text}\` starts with none of ${roots.join(', ')}`)
  if (rest.some(key => key === '') || rest.length === 0) return fail(`\`${text}\` is not a complete path`)
  if (known === 'loop') {
    const [output, ...path] = rest
    if (output !== 'output') return fail(`\`${text}\`: of a loop only \`loop.output\` can be read`)
    return { ok: true, value: { root: known, task: null, path, text }, end: 0 }
  }
  if (known !== 'tasks') return { ok: true, value: { root: known, task: null, path: rest, text }, end: 0 }

  const [task, output, ...path] = rest
  if (task === undefined || output !== 'output') {
    return fail(`\`${text}\`: of a task only its output can be read, \`tasks.${task ?? 'ID'}.output\``)
  }
  return { ok: true, value: { root: known, task, path, text }, end: 0 }
}

/** A quoted string, or a JSON literal. */
function parseLiteral(text: string, at: number, close: string | null): Parsed<Json> {
  const first = text[at]
  if (first === "'") {
    const end = text.indexOf("'", at + 1)
    if (end < 0) return fail('a quoted string does not end')
    return { ok: true, value: text.slice(at + 1, end), end: end + 1 }
  }
  const end = first === '"' || first === '[' || first === '{' ? skipStructure(text, at) : skipBare(text, at)
  const source = text.slice(at, end)
  if (source === '') return fail('a value is missing behind the operator')
  try {
    const value: unknown = JSON.parse(source)
    if (holdsUnsafeNumber(value)) return fail(`\`${source}\` holds a number that JSON cannot carry exactly`)
    return { ok: true, value: value as Json, end }
  } catch {
    const shown = close === null ? source : source.slice(0, 80)
    return fail(`\`${shown}\` is neither a JSON literal nor a quoted string; a path cannot stand on the right`)
  }
}

function holdsUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number')
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsUnsafeNumber)
}

/** Behind a JSON string, list or object that starts here; the end of the text where it never closes. */
function skipStructure(text: string, start: number): number {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (quoted) {
      if (character === '\\') at++
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (!quoted && depth === 0) return at + 1
    if (depth > 64) return start
  }
  return text.length
}

function skipBare(text: string, start: number): number {
  let at = start
  while (at < text.length && !isSpace(text.charCodeAt(at)) && text[at] !== '}') at++
  return at
}

function skipPath(text: string, start: number): number {
  let at = start
  while (at < text.length && isPathCharacter(text.charCodeAt(at))) at++
  return at
}

function isPathCharacter(code: number): boolean {
  const letter = (code | 32) >= 97 && (code | 32) <= 122
  return letter || (code >= 48 && code <= 57) || code === 46 || code === 95 || code === 45
}

function skipSpaces(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13
}

function refuse(text: string, at: number, close: string | null): { ok: false; message: string } {
  if (close !== null && !text.includes(close, at)) return fail('a template is not closed by `}}`')
  const stop = close === null ? text.length : text.indexOf(close, at)
  const rest = text.slice(at, Math.min(stop, at + 80)).trim()
  if (rest === '') return fail('a template is empty')
  return fail(
    `\`${rest}\` is not understood: a template holds one path, or \`not\` or a comparison of one path with a literal; no functions, indexing or arithmetic`,
  )
}

function fail(message: string): { ok: false; message: string } {
  return { ok: false, message }
}
