/**
 * The first key that an object of a JSON text has twice, as it reads once unescaped; null where there is none. The text
 * must be one that JSON.parse takes: of two members with one key that keeps the last, and does not tell.
 */
export function duplicateKey(text: string): string | null {
  /** Keys of each open object, null for an array; the innermost last. */
  const open: (Set<string> | null)[] = []
  let expectsKey = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      const end = endOfString(text, at)
      const keys = open.at(-1)
      if (expectsKey && keys) {
        const key: string = JSON.parse(text.slice(at, end))
        if (keys.has(key)) return key
        keys.add(key)
        expectsKey = false
      }
      at = end - 1
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : null)
      expectsKey = character === '{'
    } else if (character === '}' || character === ']') open.pop()
    else if (character === ',') expectsKey = true
  }
  return null
}

/** The place behind the closing quote of the string that begins here. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
