/** Values of GitHub's expression language: https://docs.github.com/en/actions/reference/evaluate-expressions-in-workflows-and-actions */

/** false, 0, '' and null are not truthy; objects and arrays are. */
export const isTrue = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== '' && value !== 0 && !Number.isNaN(value)

/** As a text in a template: null is empty, an object is the word `Object`, an array `Array`. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return Array.isArray(value) ? 'Array' : 'Object'
  return String(value)
}

/** Values of one kind are compared as they are, strings without case; others as numbers. */
export function equal(a: unknown, b: unknown): boolean {
  const [left, right] = [a ?? null, b ?? null]
  if (typeof left === 'string' && typeof right === 'string') return left.toLowerCase() === right.toLowerCase()
  if (typeof left === typeof right && (left === null) === (right === null)) return left === right
  return asNumber(left) === asNumber(right)
}

export function asNumber(value: unknown): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'object') return Number.NaN
  return typeof value === 'string' && value.trim() === '' ? 0 : Number(value)
}

/** A missing property of any context is null, as at GitHub; names have no case. */
export function property(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) return value[Number(name)] ?? null
  const own = Object.keys(value).find(key => key === name) ?? Object.keys(value).find(key => sameName(key, name))
  return own === undefined ? null : (value as { [key: string]: unknown })[own]
}

const sameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** The functions that need no status; each is given evaluated arguments. */
export const functions: { readonly [name: string]: (...args: unknown[]) => unknown } = {
  tojson: value => JSON.stringify(value ?? null, null, 2),
  fromjson: text => JSON.parse(asText(text)),
  contains: (within, item) =>
    Array.isArray(within)
      ? within.some(one => equal(one, item))
      : asText(within).toLowerCase().includes(asText(item).toLowerCase()),
  startswith: (text, start) => asText(text).toLowerCase().startsWith(asText(start).toLowerCase()),
  endswith: (text, end) => asText(text).toLowerCase().endsWith(asText(end).toLowerCase()),
  format: (text, ...values) => asText(text).replaceAll(/\{(\d+)\}/g, (_, index) => asText(values[Number(index)])),
  join: (list, separator = ',') => (Array.isArray(list) ? list.map(asText).join(asText(separator)) : asText(list)),
}
