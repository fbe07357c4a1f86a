import type { Clock } from '../policy/ports.ts'
import type { Limiter } from './dependencies.ts'
import { requestsPerMinute } from './routes/limits.ts'

const keepAtMost = 20_000

/**
 * Token buckets in this process: a minute's worth may come at once, then as fast as it refills. The least recently used
 * bucket is forgotten when there are too many.
 */
export function processLimiter(clock: Clock): Limiter {
  const buckets = new Map<string, { left: number; at: number }>()
  return {
    async allow(kind, key) {
      const size = requestsPerMinute[kind]
      const now = clock.now().getTime()
      const name = `${kind} ${key}`
      const bucket = buckets.get(name) ?? { left: size, at: now }
      const refilled = Math.min(size, bucket.left + (Math.max(0, now - bucket.at) * size) / 60_000)
      buckets.delete(name)
      buckets.set(name, { left: Math.max(0, refilled - 1), at: now })
      const [oldest] = buckets.keys()
      if (buckets.size > keepAtMost && oldest !== undefined) buckets.delete(oldest)
      return refilled >= 1
    },
  }
}
