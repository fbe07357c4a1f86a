/** A document is refused beyond these, by name (01, Envelope and parsing). */
export const documentLimits = {
  /** UTF-8 bytes of the text. */
  bytes: 1_048_576,
  /** Values after expansion of aliases and merge keys. */
  nodes: 200_000,
  /** Levels of nesting. */
  depth: 64,
  /** Faults reported at once. */
  faults: 100,
  /** Characters of text that the templates of one value may give. */
  resolvedCharacters: 16_777_216,
  /** Levels of what a value with its templates gives: beyond 200 a record keeps no value, and results wrap inputs. */
  resolvedDepth: 160,
  /** Tasks of a plan beyond those that the document declares. */
  expandedTasks: 20_000,
  /** Characters of the canonical plan: a default shared by many tasks counts once for each. */
  planCharacters: 33_554_432,
} as const
