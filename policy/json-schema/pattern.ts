import { RE2JS } from 're2js'
import { schemaLimits } from './limits.ts'

/** A pattern that takes time linear in the text, whatever both are. */
export interface Pattern {
  matches(text: string): boolean
  /** Steps that one character costs. */
  cost: number
}

/**
 * Makes a schema's pattern, which is an ECMAScript one, for re2: same meaning or a reason why not. Only what both engines
 * take is taken, so that nothing means one thing here and another elsewhere.
 */
export function createPattern(source: string): Pattern | { problem: string } {
  if (source.length > schemaLimits.patternCharacters)
    return { problem: `is longer than ${schemaLimits.patternCharacters} characters` }
  try {
    new RegExp(source, 'u')
  } catch {
    return { problem: 'is no regular expression of ECMAScript with the flag `u`' }
  }
  try {
    const compiled = RE2JS.compile(widen(RE2JS.translateRegExp(source)))
    const size = compiled.programSize()
    if (size > schemaLimits.patternProgram)
      return {
        problem: `is too large: its repetitions make ${size} steps of it, at most ${schemaLimits.patternProgram}`,
      }
    return { matches: text => compiled.test(text), cost: Math.ceil(size / 100) }
  } catch {
    return {
      problem: 'is not one that re2 can express (no look-around, no back-references, at most 1,000 repetitions)',
    }
  }
}

const lineEnds = String.raw`\n\r\x{2028}\x{2029}`
const spaces = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
const notSpaces = String.raw`\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`

/** `.`, `\s` and `\S` leave out other characters in ECMAScript than in re2. */
function widen(source: string): string {
  let text = ''
  let inClass = false
  for (let at = 0; at < source.length; at++) {
    const character = source.charAt(at)
    if (character === '\\') {
      at += 1
      const escaped = source.charAt(at)
      const set = escaped === 's' ? spaces : escaped === 'S' ? notSpaces : null
      if (set === null) text += `\\${escaped}`
      else text += inClass ? set : `[${set}]`
    } else if (character === '.' && !inClass) text += `[^${lineEnds}]`
    else {
      // Within a class re2 reads `[:alpha:]` as a name; ECMAScript has none.
      text += inClass && character === '[' ? '\\[' : character
      if (character === '[') inClass = true
      if (character === ']') inClass = false
    }
  }
  return text
}
