/**
 * The runner's front door: makes a plan happen. Every effect goes facts -> decision -> ledger -> executor -> ledger, and
 * nothing here decides by itself whether it may.
 */

export { readCommit } from './commit.ts'
export { reapContainers } from './container/leftovers.ts'
export type { ReapedContainers } from './container/reap.ts'
export type { Executor } from './executor.ts'
export { ExecutorError } from './executor.ts'
export type { Prediction, TaskPrediction } from './predict.ts'
export { predictRun } from './predict.ts'
export { armProcesses } from './process/arm.ts'
export type { Leftover, Leftovers } from './process/containment/leftovers.ts'
export { reapLeftovers } from './process/containment/leftovers.ts'
export { resumeRun } from './resume.ts'
export type { NewRun, ProgressEvent, ResumedRun, RunnerPorts, RunOutcome } from './run.ts'
export { type Availability, secretAvailability } from './secrets/availability.ts'
export { startRun } from './start.ts'
