/** Bounds of the long-term memory; a value above 64 KiB is a blob (05, Durable). */
export const longTermBounds = {
  /** UTF-8 bytes of a value's canonical JSON. */
  valueBytes: 1_048_576,
  /** Characters of a key and of a namespace. */
  keyCharacters: 512,
  namespaceCharacters: 200,
  /** Characters of a query, and words of it. */
  queryCharacters: 1_024,
  queryWords: 16,
  /** Most items of one search. */
  searchItems: 100,
  /** Characters of a value that a search looks at. */
  searchedCharacters: 131_072,
} as const
