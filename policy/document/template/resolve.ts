import type { Json, JsonObject } from '../../json.ts'
import { documentLimits } from '../limits.ts'
import { decideExpression } from './condition.ts'
import type { Expression } from './expression.ts'
import { lookUp, type Scope } from './scope.ts'
import { holdsTemplate, parseTemplate } from './template.ts'

export type Resolved = { ok: true; value: Json } | { ok: false; message: string }

/**
 * The value with every template replaced. An exact template keeps the JSON type of what it names (a condition gives a
 * boolean); inside text only scalars are written. What a template gives is data: it is never parsed again. The result
 * may share parts with the scope, so nobody changes it.
 */
export function resolveValue(value: Json, scope: Scope): Resolved {
  const room = { characters: documentLimits.resolvedCharacters, sizes: new Map<object, Size>(), depth: 0 }
  return resolve(value, scope, room)
}

interface Room {
  characters: number
  /** Sizes of the lists and objects that exact templates gave, each measured once. */
  sizes: Map<object, Size>
  /** Levels above the value that is being resolved. */
  depth: number
}

interface Size {
  /** Roughly, of its JSON. */
  characters: number
  /** Levels; 0 for a scalar. */
  height: number
}

function resolve(value: Json, scope: Scope, room: Room): Resolved {
  if (typeof value === 'string') return holdsTemplate(value) ? resolveText(value, scope, room) : { ok: true, value }
  if (typeof value !== 'object' || value === null) return { ok: true, value }
  room.depth += 1
  const resolved = resolveParts(value, scope, room)
  room.depth -= 1
  return resolved
}

function resolveParts(value: Json[] | JsonObject, scope: Scope, room: Room): Resolved {
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) {
      const resolved = resolve(item, scope, room)
      if (!resolved.ok) return resolved
      items.push(resolved.value)
    }
    return { ok: true, value: items }
  }
  const object: { [key: string]: Json } = {}
  for (const [key, item] of Object.entries(value)) {
    const resolved = resolve(item, scope, room)
    if (!resolved.ok) return resolved
    object[key] = resolved.value
  }
  return { ok: true, value: object }
}

function resolveText(text: string, scope: Scope, room: Room): Resolved {
  const parsed = parseTemplate(text)
  if (!parsed.ok) return parsed
  if ('exact' in parsed.template) return resolveExact(parsed.template.exact, scope, room)

  let out = ''
  for (const part of parsed.template.parts) {
    if (typeof part === 'string') {
      out += part
      continue
    }
    const read = lookUp(part.reference, scope)
    if (!read.ok) return read
    if (typeof read.value === 'object' && read.value !== null) {
      return { ok: false, message: `\`${part.text}\` is a list or an object; inside a text only scalars can stand` }
    }
    const shown = String(read.value)
    room.characters -= shown.length
    if (room.characters < 0) return tooLarge()
    out += shown
  }
  return { ok: true, value: out }
}

function resolveExact(expression: Expression, scope: Scope, room: Room): Resolved {
  const read = lookUp(expression.reference, scope)
  if (!read.ok) return read
  if (!expression.negated && expression.comparison === null) {
    const { characters, height } = sizeOf(read.value, room.sizes)
    room.characters -= characters
    if (room.characters < 0) return tooLarge()
    return room.depth + height > documentLimits.resolvedDepth ? tooDeep() : read
  }
  const decided = decideExpression(expression, read.value)
  return decided.ok ? { ok: true, value: decided.result } : decided
}

function sizeOf(value: Json, sizes: Map<object, Size>): Size {
  if (typeof value === 'string') return { characters: value.length + 2, height: 0 }
  if (typeof value !== 'object' || value === null) return { characters: 8, height: 0 }
  const known = sizes.get(value)
  if (known !== undefined) return known
  const size = { characters: 2, height: 0 }
  for (const [key, item] of Object.entries(value)) {
    const below = sizeOf(item, sizes)
    size.characters += key.length + below.characters
    size.height = Math.max(size.height, below.height)
  }
  size.height += 1
  sizes.set(value, size)
  return size
}

function tooLarge(): Resolved {
  return { ok: false, message: `the templates give more than ${documentLimits.resolvedCharacters} characters` }
}

function tooDeep(): Resolved {
  return { ok: false, message: `the templates give a value with more than ${documentLimits.resolvedDepth} levels` }
}
