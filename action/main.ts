import { getInput } from '@actions/core'
import { systemClock, systemIds } from '../ledger/system.ts'
import { Annotations } from './annotations.ts'
import { Guard } from './guard.ts'
import { JobLog } from './job-log.ts'
import { Progress } from './progress.ts'
import { runAction } from './run.ts'
import { abortOnSignals } from './signals.ts'

/** The GitHub Action's entry: reads the step, runs it, tells how it ended, and exits with the run's code. */

// A runner that reads the log no longer, or cannot keep it, ends no run: what it came to is still to be recorded.
process.stdout.on('error', () => {})

const log = new JobLog(text => process.stdout.write(text))
const guard = new Guard(log)
const annotations = new Annotations(log, text => guard.text(text))
const progress = new Progress(log, annotations)
const signal = abortOnSignals(() => {
  log.line('cancelled: what was running could not be recorded in time; the next attempt finds it')
  process.exit(130)
})

process.exitCode = await runAction(
  { environment: process.env, clock: systemClock, ids: systemIds, log, guard, annotations, progress, signal },
  getInput,
)
