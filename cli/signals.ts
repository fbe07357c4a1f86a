import { stopOnSignals } from '../runner/stop-signals.ts'
import type { Context } from './command.ts'
import { exits } from './failure.ts'

/**
 * Aborts on SIGINT, SIGTERM, SIGHUP and SIGQUIT; where the end has not come in time the process says so and ends, and the
 * next one finds the run as it is.
 */
export function abortOnSignals({ tellOverdue }: Context): AbortSignal {
  return stopOnSignals(() => {
    tellOverdue()
    process.exit(exits.cancelled)
  })
}
