import { v7 } from 'uuid'
import type { Clock, Ids } from '../policy/ports.ts'

/** The process clock. */
export const systemClock: Clock = { now: () => new Date() }

// One call of the platform for many salts: it costs far more than the copy. Used bytes are wiped.
const pool = new Uint8Array(4096)
let used = pool.length

/** UUIDv7 and the platform's random bytes. */
export const systemIds: Ids = {
  uuid: () => v7(),
  bytes(length) {
    if (length > pool.length / 4) return crypto.getRandomValues(new Uint8Array(length))
    if (used + length > pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const bytes = pool.slice(used, used + length)
    pool.fill(0, used, used + length)
    used += length
    return bytes
  },
}
