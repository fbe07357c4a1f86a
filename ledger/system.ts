import { v7 } from 'uuid'
import type { Clock, Ids } from '../policy/ports.ts'

/** The process clock. */
export const systemClock: Clock = { now: () => new Date() }

/** UUIDv7 and the platform's random bytes. */
export const systemIds: Ids = {
  uuid: () => v7(),
  bytes: length => crypto.getRandomValues(new Uint8Array(length)),
}
