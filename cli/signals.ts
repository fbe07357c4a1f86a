/** Within this after the first signal everything is gone and recorded (03, Containment). */
const graceMs = 5_000

/**
 * Aborts on SIGINT, SIGTERM and SIGHUP. Children go first, then what they came to is recorded; where that has not ended in
 * time the process ends, and the next one finds the run as it is.
 */
export function abortOnSignals(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (controller.signal.aborted) return
      controller.abort(signal)
      setTimeout(() => process.exit(130), graceMs).unref()
    })
  return controller.signal
}
