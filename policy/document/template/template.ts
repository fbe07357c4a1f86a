import type { Json } from '../../json.ts'
import { type Expression, parseExpression } from './expression.ts'

/** Text and expressions in turn; a text that is one expression and nothing else keeps the type of its value. */
export type Template = { exact: Expression } | { parts: (string | Expression)[] }

export type TemplateResult = { ok: true; template: Template } | { ok: false; message: string }

/** Whether a text holds a template at all; false for nearly every string of a document. */
export function holdsTemplate(text: string): boolean {
  return text.includes('${{')
}

/** Splits a text at its templates; linear. The message of a failure says what is not understood. */
export function parseTemplate(text: string): TemplateResult {
  const parts: (string | Expression)[] = []
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('${{', at)
    if (open < 0) break
    if (open > at) parts.push(text.slice(at, open))
    const parsed = parseExpression(text, open + 3, '}}')
    if (!parsed.ok) return parsed
    parts.push(parsed.value)
    at = parsed.end
  }
  if (at < text.length) parts.push(text.slice(at))

  const [only] = parts
  if (parts.length === 1 && typeof only === 'object') return { ok: true, template: { exact: only } }
  const condition = parts.find(part => typeof part === 'object' && (part.negated || part.comparison !== null))
  if (typeof condition === 'object') {
    return { ok: false, message: `the condition \`${condition.text}\` must be the whole value, not part of a text` }
  }
  return { ok: true, template: { parts } }
}

/** Every expression of a template, in order. */
export function expressionsOf(template: Template): Expression[] {
  if ('exact' in template) return [template.exact]
  return template.parts.filter(part => typeof part === 'object')
}

/** Whether a template stands anywhere in a value. */
export function holdsAnyTemplate(value: Json): boolean {
  if (typeof value === 'string') return holdsTemplate(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsAnyTemplate)
}
