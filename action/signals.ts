/** Within this after the first signal everything is gone and recorded (03, Containment). */
const graceMs = 5_000

/**
 * Aborts on SIGINT, SIGTERM and SIGHUP: the runner's cancel, or its end. Children go first, then what they came to is
 * recorded; `overdue` is called where that has not ended in time.
 */
export function abortOnSignals(overdue: () => void): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (controller.signal.aborted) return
      controller.abort(signal)
      setTimeout(overdue, graceMs).unref()
    })
  return controller.signal
}
