import type { ResumedRun, RunnerPorts, RunOutcome } from './run.ts'

/**
 * Goes on with a recorded run: its stored plan, its confirmed results, its files restored first. A run that has ended
 * gives its recorded outcome again, a pause with an undecided item gives the pause again; nothing runs in either.
 * The caller holds the lease at `run.epoch` unless the run is one of those.
 */
export function resumeRun(ports: RunnerPorts, run: ResumedRun): Promise<RunOutcome> {
  throw new Error(`not built yet: ${run.run} ${ports.workspace}`)
}
