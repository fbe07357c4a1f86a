import { getInput, saveState } from '@actions/core'
import { systemClock, systemIds } from '../ledger/system.ts'
import { stopOnSignals } from '../runner/stop-signals.ts'
import { Annotations } from './annotations.ts'
import { exits } from './failure.ts'
import { Guard } from './guard.ts'
import { JobLog } from './job-log.ts'
import { systemPace } from './pace.ts'
import { Progress } from './progress.ts'
import { type ActionBase, leaveOverdue, runAction } from './run.ts'
import { StepState } from './state.ts'

/** The GitHub Action's main step: reads it, runs it, tells how it ended, and exits with the run's code. */

// A runner that reads the log no longer, or cannot keep it, ends no run: what it came to is still to be recorded.
process.stdout.on('error', () => {})

const log = new JobLog(text => process.stdout.write(text))
const guard = new Guard(log)
const annotations = new Annotations(log, text => guard.text(text))
const base: ActionBase = {
  environment: process.env,
  clock: systemClock,
  ids: systemIds,
  log,
  guard,
  annotations,
  progress: new Progress(log, annotations, systemPace),
  state: new StepState((name, value) => log.command(() => saveState(name, value))),
  signal: stopOnSignals(() => {
    leaveOverdue(base)
    process.exit(exits.cancelled)
  }),
}

process.exitCode = await runAction(base, getInput)
