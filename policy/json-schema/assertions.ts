import type { Json, JsonObject } from '../json.ts'
import { shortened } from './at.ts'
import { equalText } from './equal.ts'
import type { Evaluation, Group } from './evaluation.ts'

/** type, const, enum, and every keyword about numbers and texts. No message holds a part of the value. */
export const asserts: Group = (evaluation, schema, value, at) => {
  const fault =
    typeFault(schema, value) ??
    equalityFault(evaluation, schema, value) ??
    (typeof value === 'number' ? numberFault(schema, value) : null) ??
    (typeof value === 'string' ? textFault(evaluation, schema, value) : null)
  return fault === null || evaluation.fail(at, fault)
}

function typeFault({ type }: JsonObject, value: Json): string | null {
  if (type === undefined) return null
  const types = Array.isArray(type) ? type : [type]
  return types.some(one => isOfType(one, value)) ? null : `must be of type ${types.join(' or ')}`
}

function isOfType(type: Json, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function equalityFault(evaluation: Evaluation, schema: JsonObject, value: Json): string | null {
  const { const: constant, enum: listed } = schema
  if (constant === undefined && listed === undefined) return null
  const isEqual = equalityTo(evaluation, value)
  if (constant !== undefined && !isEqual(constant)) return `must be ${shortened(equalText(constant))}`
  if (Array.isArray(listed) && !listed.some(isEqual))
    return `must be one of ${shortened(listed.slice(0, listedShown).map(equalText).join(', '))}`
  return null
}

/** More of a list than anybody reads in an error. */
const listedShown = 20

function equalityTo(evaluation: Evaluation, value: Json): (other: Json) => boolean {
  if (typeof value !== 'object' || value === null)
    return other => {
      evaluation.spend(1)
      return other === value
    }
  const text = equalText(value)
  evaluation.spend(text.length)
  return other => {
    const known = equalText(other)
    evaluation.spend(known.length)
    return known === text
  }
}

function numberFault(schema: JsonObject, value: number): string | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`
  if (typeof maximum === 'number' && value > maximum) return `must be at most ${maximum}`
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return `must be more than ${exclusiveMinimum}`
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return `must be less than ${exclusiveMaximum}`
  if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf)) return `must be a multiple of ${multipleOf}`
  return null
}

/** By decimal digits, as they are written: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const [digits, exponent] = decimal(value)
  const [otherDigits, otherExponent] = decimal(of)
  const least = Math.min(exponent, otherExponent)
  return (digits * 10n ** BigInt(exponent - least)) % (otherDigits * 10n ** BigInt(otherExponent - least)) === 0n
}

/** A number as whole digits and a power of ten. */
function decimal(value: number): [digits: bigint, exponent: number] {
  const [mantissa = '0', power = '0'] = String(Math.abs(value)).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(power) - fraction.length]
}

function textFault(evaluation: Evaluation, schema: JsonObject, value: string): string | null {
  const { minLength, maxLength, pattern } = schema
  if (minLength !== undefined || maxLength !== undefined) {
    evaluation.spend(value.length)
    const length = charactersOf(value)
    if (typeof minLength === 'number' && length < minLength) return `must have at least ${minLength} characters`
    if (typeof maxLength === 'number' && length > maxLength) return `must have at most ${maxLength} characters`
  }
  if (typeof pattern === 'string' && !evaluation.matches(pattern, value))
    return `must match the pattern ${shortened(pattern)}`
  return null
}

/** Characters are code points. */
function charactersOf(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1
  return count
}
