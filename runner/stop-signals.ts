import { ownChildren } from './process/containment/proc.ts'

/**
 * By then everything is gone and recorded (03: within 5 s of the first signal); what is not is left to the post step or
 * the next start, with half a second to say so.
 */
const overdueMs = 4_500

const signals: readonly NodeJS.Signals[] =
  process.platform === 'win32' ? ['SIGINT', 'SIGBREAK', 'SIGHUP'] : ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/**
 * Aborts on what means cancel to a process: children go first, then what they came to is recorded. A further signal takes
 * the children's grace away and nothing else. `overdue` is called where the end has not come in time.
 */
export function stopOnSignals(overdue: () => void): AbortSignal {
  const controller = new AbortController()
  for (const signal of signals)
    process.on(signal, () => {
      if (controller.signal.aborted) return killChildren()
      controller.abort(signal)
      setTimeout(overdue, overdueMs).unref()
    })
  return controller.signal
}

/**
 * Ends the groups of this process's own children at once; their executors see them end. A child that is not reaped keeps
 * its pid. Linux only; elsewhere the grace simply runs out.
 */
function killChildren(): void {
  for (const pid of ownChildren())
    for (const target of [-pid, pid])
      try {
        process.kill(target, 'SIGKILL')
      } catch {
        // Gone, or no leader of a group: the other target meets it.
      }
}
