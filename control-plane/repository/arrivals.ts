import type { Delivery } from '../../ledger/index.ts'

type Outcome = 'new' | 'duplicate'

/** A commit is waited for by others at most this long, whatever the last one took. */
const longestMs = 8

interface Waiting {
  delivery: Delivery
  resolve: (outcome: Outcome) => void
  reject: (error: unknown) => void
}

/**
 * Deliveries that arrive together share a commit: the first of them waits as long as the last commit took, so that a slow
 * disk is asked less often. Each is answered only once the commit
 * that holds it is durable; a commit that fails fails all of it, and GitHub can send them again.
 */
export class Arrivals {
  readonly #keep: (deliveries: Delivery[]) => Outcome[]
  #waiting: Waiting[] = []
  #tookMs = 0

  constructor(keep: (deliveries: Delivery[]) => Outcome[]) {
    this.#keep = keep
  }

  add(delivery: Delivery): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ delivery, resolve, reject })
      if (this.#waiting.length === 1) setTimeout(() => this.#flush(), Math.min(this.#tookMs, longestMs))
    })
  }

  #flush(): void {
    const together = this.#waiting
    this.#waiting = []
    try {
      const start = performance.now()
      const outcomes = this.#keep(together.map(({ delivery }) => delivery))
      this.#tookMs = performance.now() - start
      for (const [index, { resolve }] of together.entries()) resolve(outcomes[index] ?? 'duplicate')
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
  }
}
