/** A repeatable stream of numbers in [0, 1): mulberry32. */
export type Random = () => number

export function seeded(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** When a process dies: that long after its start, or after the first thing that it says. */
export interface Aim {
  from: 'start' | 'first word'
  milliseconds: number
}

/** How long a process of this kind lives, learnt from those that nobody killed: random points must lie within it. */
export interface Lifetime {
  whole: number
  /** Until it says something. */
  silent: number
}

/** A random point of a process's life. One in four is counted from its start, the others from its first word. */
export function aim(random: Random, life: Lifetime): Aim {
  return random() < 1 / 4
    ? { from: 'start', milliseconds: random() * life.whole }
    : { from: 'first word', milliseconds: random() * (life.whole - life.silent) }
}

/** Takes one more undisturbed life into account. */
export function learn(life: Lifetime, seen: Lifetime): void {
  life.whole = (life.whole + seen.whole) / 2
  life.silent = (life.silent + seen.silent) / 2
}
