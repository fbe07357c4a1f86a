import type { NewRun, RunnerPorts, RunOutcome } from './run.ts'

/**
 * Runs a plan from its first task. The run exists once its first batch is acknowledged. Never throws for what a run can
 * come to: a ledger that cannot be written ends as `running` with exit code 5 and a message that names what to do.
 */
export function startRun(ports: RunnerPorts, run: NewRun): Promise<RunOutcome> {
  throw new Error(`not built yet: ${run.run} ${ports.workspace}`)
}
