import type { ExpectedEffect } from '../policy/approval/record.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import type { RunnerPorts } from './run.ts'

/** What a run would do, as far as it can be known without doing anything. */
export interface Prediction {
  tasks: TaskPrediction[]
  /** True where some task would be denied or would fail. */
  refused: boolean
  /** True where some task would wait for a person. */
  asks: boolean
}

/**
 * - run: allowed, would run; unchanged: its result is already in place; ask: would wait for a person;
 * - denied, failed: would stop there, `reason` says why; skipped: its condition is false;
 * - unknown: depends on output that only a run gives.
 */
export interface TaskPrediction {
  task: string
  kind: string
  outcome: 'run' | 'unchanged' | 'ask' | 'denied' | 'failed' | 'skipped' | 'unknown'
  reason: string
  /** The effect as an approval would show it, a diff for a write; null where unknown. Redacted. */
  expected: ExpectedEffect | null
  /** Output where it is known already (pure tasks, unchanged writes), else null. Redacted. */
  output: Json
}

/** Predicts a run (`run --check --diff`): facts and decisions are taken as for a run, and nothing is changed. */
export function predictRun(
  ports: Pick<RunnerPorts, 'workspace' | 'environment' | 'protectedPaths' | 'temporaryDirectories' | 'searchPath'>,
  plan: Plan,
): Promise<Prediction> {
  throw new Error(`not built yet: ${plan.workflowName} ${ports.workspace}`)
}
