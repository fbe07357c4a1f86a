/** Choices that a seed number alone repeats. */
export interface Pick {
  /** A whole number from 0, below `count`. */
  below(count: number): number
  one<Item>(items: readonly Item[]): Item | undefined
}

export function picker(seed: number): Pick {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (count: number): number => Math.floor(next() * count)
  return { below, one: items => items[below(items.length)] }
}
