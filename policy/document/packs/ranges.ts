import Range from 'semver/classes/range.js'
import SemVer from 'semver/classes/semver.js'

/** Version of the document language that a pack's `agentctl` range is matched against (01). */
export const languageVersion = '0.3.0'

/**
 * One comparator, in the language's own grammar: a version alone means the same as `^`, `,` or blanks join comparators.
 * Alternatives (`||`) and spans (`1 - 2`) are not part of it.
 */
const comparator = /^(\^|~|>=|<=|>|<|=)?(\d+|\*)(\.(\d+|\*|x)){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

const longest = 200

/** Whether a text is one exact version, `1.2.0`. */
export function isVersion(text: string): boolean {
  if (!/^\d\S*$/.test(text) || text.length > longest) return false
  try {
    return new SemVer(text).raw === text
  } catch {
    return false
  }
}

/** Whether a version lies in a range; null where the range is not understood. `version` as `isVersion` accepts it. */
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

/** What to write instead of a range that is not understood. */
export const rangeHelp = 'write comparators such as ^1.2, ~1.2.3 or >=1.0.0, <2.0.0'
