/** What of a value the schemas that it satisfies have looked at: what `unevaluated*` leaves out. */
export interface Found {
  keys: Set<string>
  indexes: Set<number>
}

export function nothingFound(): Found {
  return { keys: new Set(), indexes: new Set() }
}

export function merge(into: Found, found: Found): void {
  for (const key of found.keys) into.keys.add(key)
  for (const index of found.indexes) into.indexes.add(index)
}
