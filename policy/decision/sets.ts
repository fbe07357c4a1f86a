/**
 * Lists of a policy as sets, each in one normal form (sorted, nothing that another entry already covers), so that a meet
 * gives the same list whichever side comes first.
 */
export interface Order<Item> {
  /** Whether everything that `inner` allows, `outer` allows. */
  contains(outer: Item, inner: Item): boolean
  /** What both allow, null for nothing. */
  meet(left: Item, right: Item): Item | null
  key(item: Item): string
}

/** Plain names: each covers itself only. */
export const names: Order<string> = {
  contains: (outer, inner) => outer === inner,
  meet: (left, right) => (left === right ? left : null),
  key: name => name,
}

/** An order in which two entries overlap only where one holds the other: directories, host rules. */
export function nested(contains: (outer: string, inner: string) => boolean): Order<string> {
  return {
    contains,
    meet: (left, right) => (contains(left, right) ? right : contains(right, left) ? left : null),
    key: entry => entry,
  }
}

/** Sorted, without what another entry covers. */
export function normalForm<Item>(list: readonly Item[], order: Order<Item>): Item[] {
  const unique = new Map(list.map(item => [order.key(item), item]))
  const items = [...unique].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, item]) => item)
  if (order === (names as unknown)) return items
  return items.filter(item => !items.some(other => other !== item && order.contains(other, item)))
}

/** What both lists allow. */
export function meetLists<Item>(left: readonly Item[], right: readonly Item[], order: Order<Item>): Item[] {
  const met: Item[] = []
  for (const one of left) {
    for (const other of right) {
      const both = order.meet(one, other)
      if (both !== null) met.push(both)
    }
  }
  return normalForm(met, order)
}

/** What either list names: for lists that refuse or demand. */
export function joinLists(left: readonly string[], right: readonly string[]): string[] {
  return normalForm([...left, ...right], names)
}

/** Entries that the bound does not cover. */
export function beyond<Item>(list: readonly Item[], bound: readonly Item[], order: Order<Item>): Item[] {
  return list.filter(item => !bound.some(outer => order.contains(outer, item)))
}
