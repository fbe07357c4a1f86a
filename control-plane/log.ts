import type { Clock } from '../policy/ports.ts'
import { createRedactor } from '../policy/redact.ts'
import type { Log, LogData } from './dependencies.ts'

/** One line of JSON per event, written by `write` (without a line end). Fields named like secrets are blanked. */
export function lineLog(clock: Clock, write: (line: string) => void): Log {
  const { json } = createRedactor([])
  const line = (level: string, event: string, data: LogData = {}) =>
    write(JSON.stringify({ at: clock.now().toISOString(), level, event, ...(json(data) as LogData) }))
  return {
    info: (event, data) => line('info', event, data),
    error: (event, data) => line('error', event, data),
  }
}
