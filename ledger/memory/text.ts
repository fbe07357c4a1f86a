import type { Json } from '../../policy/json.ts'
import { longTermBounds } from './bounds.ts'

/** What a search looks at: the key, then every name, text and other scalar of the value, folded. */
export function searchText(key: string, value: Json): string {
  const parts = [key]
  let room = longTermBounds.searchedCharacters
  const add = (text: string): void => {
    if (room > 0) parts.push(text.slice(0, room))
    room -= text.length + 1
  }
  const walk = (part: Json): void => {
    if (room <= 0) return
    if (Array.isArray(part)) for (const item of part) walk(item)
    else if (typeof part === 'object' && part !== null) {
      for (const [name, item] of Object.entries(part)) {
        add(name)
        walk(item)
      }
    } else add(String(part))
  }
  walk(value)
  return fold(parts.join('\n'))
}

/** The words of a query, folded as the text is. */
export function wordsOf(query: string): string[] {
  const words = fold(query)
    .split(/\s+/)
    .filter(word => word !== '')
  return [...new Set(words)].slice(0, longTermBounds.queryWords)
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
