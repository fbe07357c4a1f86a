import { systemClock, systemIds } from '../ledger/system.ts'
import { exits } from './failure.ts'
import { runCli } from './run-cli.ts'

/** The command line as a process: runs one command, and ends with its exit code once all is written. */
let isOutputLost = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => lost('stdout', error))
process.stderr.on('error', (error: NodeJS.ErrnoException) => lost('stderr', error))

const exitCode = await runCli(process.argv.slice(2), {
  directory: process.cwd(),
  environment: process.env,
  user: process.getuid?.() ?? 0,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  ids: systemIds,
})
process.exitCode = exitCode === exits.done && isOutputLost ? exits.persistence : exitCode

/**
 * A run goes on whatever becomes of its output: it still has results to record. A reader that goes away (`head`, a pager)
 * is no fault; output that could not be kept is one, so that nobody takes it for whole.
 */
function lost(stream: 'stdout' | 'stderr', { code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' || isOutputLost) return
  isOutputLost = true
  process.exitCode ||= exits.persistence
  if (stream === 'stdout')
    process.stderr.write(`error unwritable_output: stdout cannot be written (${code}); what was done is as recorded\n`)
}
