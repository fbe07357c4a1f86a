#!/usr/bin/env node
import { systemClock, systemIds } from '../ledger/system.ts'
import { runCli } from './run-cli.ts'

/** The terminal's entry: reads the command line, runs one command, and ends with its exit code once all is written. */
process.stdout.on('error', ignoreGoneReader)
process.stderr.on('error', ignoreGoneReader)

process.exitCode = await runCli(process.argv.slice(2), {
  directory: process.cwd(),
  environment: process.env,
  user: process.getuid?.() ?? 0,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  ids: systemIds,
})

/** A reader that goes away (`head`, a pager) ends the output, not the run: a run still has results to record. */
function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
