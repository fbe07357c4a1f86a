import { canonical, type Digest, digest } from '../../canonical.ts'
import type { Json } from '../../json.ts'
import { type Expression, parseExpression } from './expression.ts'
import { lookUp, type Scope } from './scope.ts'
import { parseTemplate } from './template.ts'

export type ConditionResult =
  | {
      ok: true
      result: boolean
      /** As written, without braces. */
      expression: string
      /** SHA-256 over the canonical object of exactly the values read, by path. */
      contextDigest: Digest
    }
  | { ok: false; message: string }

export type ConditionParsed = { ok: true; expression: Expression } | { ok: false; message: string }

/** Parses a `when` or `while`: one exact template, or the same without its braces. */
export function parseCondition(text: string): ConditionParsed {
  if (!text.includes('${{')) {
    const bare = parseExpression(text, 0, null)
    return bare.ok ? { ok: true, expression: bare.value } : bare
  }
  const parsed = parseTemplate(text.trim())
  if (!parsed.ok) return parsed
  if ('exact' in parsed.template) return { ok: true, expression: parsed.template.exact }
  return { ok: false, message: 'a condition is one template and nothing beside it, `${{ inputs.deploy == true }}`' }
}

/**
 * Decides a condition. A path alone counts as false when it is null, false, 0, or an empty string, list or object; a
 * missing path fails, as does an order comparison with anything but a number.
 */
export function evaluateCondition(text: string, scope: Scope): ConditionResult {
  const parsed = parseCondition(text)
  if (!parsed.ok) return parsed
  const { expression } = parsed
  const read = lookUp(expression.reference, scope)
  if (!read.ok) return read
  const decided = decideExpression(expression, read.value)
  if (!decided.ok) return decided
  const contextDigest = digest({ [expression.reference.text]: read.value })
  return { ok: true, result: decided.result, expression: expression.text, contextDigest }
}

/** The boolean of a condition whose value is already read. */
export function decideExpression(
  expression: Expression,
  value: Json,
): { ok: true; result: boolean } | { ok: false; message: string } {
  const { comparison, negated } = expression
  if (comparison === null) return { ok: true, result: counts(value) !== negated }
  const { operator, literal } = comparison
  if (operator === '==' || operator === '!=') {
    const equal = canonical(value) === canonical(literal)
    return { ok: true, result: (equal === (operator === '==')) !== negated }
  }
  if (typeof value !== 'number' || typeof literal !== 'number') {
    return {
      ok: false,
      message: `\`${expression.text}\`: \`${operator}\` compares numbers, and \`${expression.reference.text}\` is none`,
    }
  }
  return { ok: true, result: compare(value, operator, literal) !== negated }
}

function compare(left: number, operator: '<' | '<=' | '>' | '>=', right: number): boolean {
  if (operator === '<') return left < right
  if (operator === '<=') return left <= right
  return operator === '>' ? left > right : left >= right
}

function counts(value: Json): boolean {
  if (typeof value === 'object') return value !== null && Object.keys(value).length > 0
  return Boolean(value)
}
