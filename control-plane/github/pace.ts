import type { Clock } from '../../policy/ports.ts'

/** GitHub's limits on requests that create content, per minute and per hour; more leads to a secondary rate limit. */
const windows = [
  { ms: 60_000, most: 80 },
  { ms: 3_600_000, most: 500 },
]

/** Keeps our writes under GitHub's limits and our requests quiet while it has asked for quiet. */
export interface Pace {
  /** ISO time at which to come back, null for now; a write that may go is counted. */
  ask(isWrite: boolean): string | null
  /** GitHub named a time before which nothing more is wanted. */
  hold(until: string): void
}

export function paceBy(clock: Clock): Pace {
  let writes: number[] = []
  let heldUntil = 0
  return {
    ask(isWrite) {
      const now = clock.now().getTime()
      if (heldUntil > now) return new Date(heldUntil).toISOString()
      if (!isWrite) return null
      writes = writes.filter(time => time > now - 3_600_000 && time <= now)
      for (const { ms, most } of windows) {
        const within = writes.filter(time => time > now - ms)
        const first = within[within.length - most]
        if (first !== undefined) return new Date(first + ms).toISOString()
      }
      writes.push(now)
      return null
    },
    hold(until) {
      heldUntil = Math.max(heldUntil, Date.parse(until))
    },
  }
}
