/**
 * Loaded before all else by what runs effects: it acts by being imported. On SIGUSR1 Node opens its inspector on loopback,
 * through which any process of the same user would run code in agentctl. The signal does nothing from here on, and what one
 * that came earlier has opened is closed. An inspector that the job's owner asked for stays: it is theirs.
 */
const asked = /(^|\s)--inspect(-brk|-wait)?($|[\s=])/

/** Another thread has the inspector opened, which may be late on a busy host: when to look again, in milliseconds. */
const later = [10, 100, 1_000]

process.on('SIGUSR1', () => {})
if (!asked.test([...process.execArgv, process.env.NODE_OPTIONS].join(' '))) {
  closeInspector()
  closeAfterEvents()
  for (const delay of later) setTimeout(closeAfterEvents, delay).unref()
}

/** That thread's word is an event: this comes right after the event loop has taken in what waits, a timer before. */
function closeAfterEvents(): void {
  setImmediate(closeInspector).unref()
}

/** What `node:inspector` exports as `close`, without the 3 ms of loading that; that itself where Node has it no more. */
function closeInspector(): void {
  const { _debugEnd: close } = process as { _debugEnd?: unknown }
  if (typeof close === 'function') close()
  else if (process.features.inspector) process.getBuiltinModule('node:inspector').close()
}
