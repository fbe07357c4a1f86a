import type { Combination, StrategyContext } from './matrix.ts'

/** What an in-process step is given; enough to act as a shell step would. */
export interface RunContext {
  environment: { readonly [name: string]: string }
  workspace: string
  temp: string
  matrix: Combination | null
  strategy: StrategyContext
  inputs: { readonly [name: string]: unknown }
  /** What the job may see of the repository's secrets. */
  secrets: { readonly [name: string]: string }
  attempt: number
  /** Outputs of earlier steps by step id. */
  steps: { readonly [id: string]: { outputs: { readonly [name: string]: string }; outcome: StepConclusion } }
  /** Outputs and result of needed jobs by job id. */
  needs: { readonly [id: string]: { outputs: { readonly [name: string]: string }; result: string } }
  setOutput(name: string, value: string): void
  log(line: string): void
  /** Aborted when the step is cancelled or has timed out. */
  signal: AbortSignal
}

export type StepConclusion = 'success' | 'failure' | 'cancelled' | 'skipped'

export interface Annotation {
  level: 'error' | 'warning' | 'notice' | 'debug'
  message: string
  file?: string
  line?: number
  column?: number
  title?: string
}

/** One step of one job attempt, after it ended. */
export interface StepResult {
  id: string
  kind: 'action' | 'composite' | 'script'
  name: string
  number: number
  conclusion: StepConclusion
  /** Exit code of an action's process; null where a signal ended it or the step ran in process. */
  exitCode: number | null
  signal: string | null
  outputs: { readonly [name: string]: string }
  state: { readonly [name: string]: string }
  summary: string
  annotations: Annotation[]
  /** Stdout and stderr in the order they came, as the job's log shows them: the token and add-mask values are `***`. */
  log: string
  /** The same before masking: what a test for leaks searches. */
  raw: string
  startedAt: Date
  completedAt: Date
  /** Steps of a composite action, in the order they ran. */
  nested: StepResult[]
}

/** A process that a step runs, while it runs; handed to `onProcess`. */
export interface RunningProcess {
  job: { id: number; key: string; name: string; attempt: number; run: number }
  step: string
  phase: 'main' | 'post'
  pid: number
  /** Sends the signal to the process itself (not its children), as `kill -9 PID` would. */
  kill(signal: NodeJS.Signals): void
  /** Called with each chunk of output, at once. */
  onOutput(listener: (text: string) => void): void
}
