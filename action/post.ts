import '../runner/no-inspector.ts'
import { readState } from './state.ts'

/**
 * The Action's post step, which GitHub starts when main has ended, however it did. It ends what main's effects left running
 * and, where main did not conclude, settles its run. It never changes whether the step is green, and ends within 10 s.
 */
const boundMs = 10_000

const left = readState(process.env)
process.stdout.on('error', () => {})
for (const fault of ['uncaughtException', 'unhandledRejection'] as const) process.on(fault, () => process.exit(0))
setTimeout(() => process.exit(0), boundMs).unref()

// Loaded only where there is something to do: after a step that concluded this takes no time to speak of.
if (!left.concluded) {
  // Main's effects may still run, as this step's user, and what it holds is worth reading.
  const readable = (await import('../runner/native/forbid-dump.ts')).forbidDump()
  await (await import('./post-work.ts')).postWork(left, readable)
}
