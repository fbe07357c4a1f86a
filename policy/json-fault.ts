import type { Json } from './json.ts'

/** Levels of nesting that a value may have, as a document may. */
const depthMax = 64

/** What in a value that came as JSON text could not be recorded, or would change on the way; null where nothing would. */
export function jsonFault(value: Json): string | null {
  return faultOf(value, 1)
}

function faultOf(value: Json, depth: number): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : 'a text in it holds half of a surrogate pair'
  if (typeof value === 'number') return numberFault(value)
  if (typeof value !== 'object' || value === null) return null
  if (depth > depthMax) return `it is nested more than ${depthMax} levels deep`
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') return 'a key in it is `__proto__`'
    const fault = faultOf(key, depth) ?? faultOf(member, depth + 1)
    if (fault !== null) return fault
  }
  return null
}

function numberFault(value: number): string | null {
  if (!Number.isFinite(value)) return 'a number in it is too large'
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value)
  return isExact ? null : 'a whole number in it is beyond 2^53 - 1 and would lose digits; write it as a text'
}
