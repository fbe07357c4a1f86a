import type { Pace } from '../../action/pace.ts'

/** Time that a test moves. */
export class FakePace implements Pace {
  #now = 0
  #timers: { at: number; act: () => void }[] = []

  now(): number {
    return this.#now
  }

  after(milliseconds: number, act: () => void): () => void {
    const timer = { at: this.#now + milliseconds, act }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(one => one !== timer)
    }
  }

  /** Timers that have not come. */
  get waiting(): number {
    return this.#timers.length
  }

  /** Each timer comes at its own time. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds
    for (;;) {
      const next = this.#timers.toSorted((left, right) => left.at - right.at)[0]
      if (next === undefined || next.at > end) break
      this.#now = next.at
      this.#timers = this.#timers.filter(one => one !== next)
      next.act()
    }
    this.#now = end
  }
}
