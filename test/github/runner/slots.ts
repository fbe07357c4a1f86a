/** Bounds how many jobs run at once. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a free place; false where the signal came first. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#free > 0) {
      this.#free--
      return true
    }
    return new Promise(resolve => {
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve(true)
      }
      const stop = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1)
        resolve(false)
      }
      this.#waiting.push(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}
