/** Time as what waits needs it; handed in, so that tests need not wait. */
export interface Pace {
  /** Milliseconds that only grow. */
  now(): number
  /** Calls `act` once after so many milliseconds, and keeps no process alive for it; the answer takes it back. */
  after(milliseconds: number, act: () => void): () => void
}

export const systemPace: Pace = {
  now: () => performance.now(),
  after(milliseconds, act) {
    const timer = setTimeout(act, milliseconds).unref()
    return () => clearTimeout(timer)
  },
}
