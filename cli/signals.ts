import { stopOnSignals } from '../runner/stop-signals.ts'
import { exits } from './failure.ts'

/** Aborts on SIGINT, SIGTERM and SIGHUP; where the end has not come in time the process ends, and the next one finds the run as it is. */
export function abortOnSignals(): AbortSignal {
  return stopOnSignals(() => process.exit(exits.cancelled))
}
