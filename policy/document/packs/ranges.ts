import Range from 'semver/classes/range.js'

/**
 * One comparator, in the language's own grammar: a version alone means the same as `^`, `,` or blanks join comparators.
 * Alternatives (`||`) and spans (`1 - 2`) are not part of it.
 */
const comparator = /^(\^|~|>=|<=|>|<|=)?(\d+|\*)(\.(\d+|\*|x)){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

const longest = 200

/** Whether a version lies in a range; null where the range is not understood. */
export function inRange(version: string, range: string): boolean | null {
  const parts = range
    .slice(0, longest + 1)
    .replaceAll(/([<>=^~])\s+/g, '$1')
    .split(/[\s,]+/)
    .filter(part => part !== '')
  if (range.length > longest || parts.length === 0 || !parts.every(part => comparator.test(part))) return null
  try {
    return new Range(parts.map(part => (/^\d/.test(part) ? `^${part}` : part)).join(' ')).test(version)
  } catch {
    return null
  }
}
