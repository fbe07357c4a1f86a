import type { Json } from '../json.ts'
import { isObject } from './shape.ts'

/** A text that two JSON values share exactly where JSON Schema calls them equal; unlike the canonical form it never throws. */
export function equalText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(equalText).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${equalText(member)}`)
  return `{${members.sort().join(',')}}`
}
