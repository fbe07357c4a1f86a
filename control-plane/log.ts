import type { Clock } from '../policy/ports.ts'
import type { Log } from './dependencies.ts'

/** One line of JSON per event, written by `write` (without a line end). */
export function lineLog(clock: Clock, write: (line: string) => void): Log {
  const line = (level: string, event: string, data: object = {}) =>
    write(JSON.stringify({ at: clock.now().toISOString(), level, event, ...data }))
  return {
    info: (event, data) => line('info', event, data),
    error: (event, data) => line('error', event, data),
  }
}
