import type { Json } from '../json.ts'
import { describeError } from './describe-error.ts'

/** Keys whose values are blanked whatever they hold, without case, `_` and `-`. */
const blanked: ReadonlySet<string> = new Set(['authorization', 'apikey', 'token', 'secret', 'password'])

const depthMax = 200

export interface ValueRules {
  text: (value: string) => string
  mask: string
  /** Whether the values of keys such as `token` are blanked, whatever they are. */
  blanks: boolean
}

/**
 * A copy of the value without secrets: strings and keys through `text`, numbers that spell a secret masked, and with
 * `blanks` the values of keys such as `token` too. What is not JSON after all (cycles, functions, errors) becomes a text
 * and never throws.
 */
export function redactValue(value: unknown, rules: ValueRules): Json {
  return redact(value, { ...rules, ancestors: new Set(), depth: 0 })
}

interface Walk extends ValueRules {
  ancestors: Set<object>
  depth: number
}

function redact(value: unknown, walk: Walk): Json {
  if (typeof value === 'string') return walk.text(value)
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null
  if (typeof value === 'number') return redactNumber(value, walk)
  if (typeof value !== 'object' || value instanceof Error) return walk.text(describeError(value))
  if (walk.ancestors.has(value)) return '[circular]'
  if (walk.depth >= depthMax) return '[too deep]'
  walk.ancestors.add(value)
  walk.depth++
  try {
    return Array.isArray(value) ? value.map(item => redact(item, walk)) : redactObject(value, walk)
  } catch {
    return '[unreadable]'
  } finally {
    walk.depth--
    walk.ancestors.delete(value)
  }
}

function redactNumber(value: number, walk: Walk): Json {
  const written = String(value)
  const shown = walk.text(written)
  if (shown !== written) return shown
  return Number.isFinite(value) ? value : written
}

function redactObject(value: object, walk: Walk): Json {
  const entries = new Map<string, Json>()
  for (const [key, field] of Object.entries(value)) {
    const shown = uniqueKey(walk.text(key), entries)
    entries.set(shown, walk.blanks && isBlanked(key) && field !== null ? walk.mask : redact(field, walk))
  }
  return Object.fromEntries(entries)
}

/** Two keys that look alike once redacted are both kept. */
function uniqueKey(key: string, taken: Map<string, Json>): string {
  let unique = key
  for (let number = 2; taken.has(unique); number++) unique = `${key} (${number})`
  return unique
}

function isBlanked(key: string): boolean {
  return key.length <= 32 && blanked.has(key.toLowerCase().replaceAll(/[_-]/g, ''))
}
