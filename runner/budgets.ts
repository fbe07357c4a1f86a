import type { JsonObject } from '../policy/json.ts'
import type { RunContext } from './context.ts'
import type { EffectResult } from './executor.ts'
import type { AskedEffect, Settled } from './proposal.ts'

/** What a write will add to the files that the run keeps. */
export function writtenBytes({ expected }: AskedEffect): number {
  return expected.kind === 'write' ? expected.bytes : 0
}

const defaultArtifactBytes = 16 * 1_048_576

function maxArtifactBytes({ plan }: Pick<RunContext, 'plan'>): number {
  return plan.budgets['maxArtifactBytes'] ?? defaultArtifactBytes
}

/** Bytes of files that the run may still keep. */
export function artifactBytesLeft(context: Pick<RunContext, 'plan' | 'state'>): number {
  return maxArtifactBytes(context) - context.state.artifactBytes
}

/** Bytes that processes of the run may still print. */
export function outputBytesLeft({ plan, state }: Pick<RunContext, 'plan' | 'state'>): number {
  return (plan.budgets['maxProcessOutputBytes'] ?? Number.MAX_SAFE_INTEGER) - state.outputBytes
}

/** Takes note of what a result used up. */
export function countUse({ state }: RunContext, result: EffectResult): void {
  if (result.kind === 'cancelled') return
  for (const { bytes } of result.kind === 'succeeded' ? result.artifacts : []) state.artifactBytes += bytes?.length ?? 0
  const { output } = result
  if (output === null || typeof output !== 'object' || Array.isArray(output)) return
  for (const stream of [output['stdout'], output['stderr']])
    if (typeof stream === 'string') state.outputBytes += Buffer.byteLength(stream)
}

export function exceedsArtifacts(context: RunContext, bytes: number): boolean {
  return context.state.artifactBytes + bytes > maxArtifactBytes(context)
}

export function artifactRefusal(context: RunContext, condition: JsonObject | null): Settled {
  const message = `the files that this run keeps would exceed maxArtifactBytes (${maxArtifactBytes(context)}); raise it or write less`
  return { kind: 'failed', code: 'artifact_limit', message, condition }
}

/** Budgets over tasks and time; what is beyond one is not started. */
export function budgetRefusal(context: RunContext, pending: number): Settled | null {
  const { budgets } = context.plan
  const refuse = (name: string, limit: number) =>
    ({
      kind: 'failed',
      code: 'budget_exceeded',
      message: `the run's budget ${name} (${limit}) is used up; raise spec.runtime.budgets.${name}`,
      condition: null,
    }) as const
  const { maxTasks, maxWallTimeSeconds } = budgets
  if (maxTasks !== undefined && context.state.startedTasks + pending >= maxTasks) return refuse('maxTasks', maxTasks)
  if (maxWallTimeSeconds !== undefined && performance.now() - context.beganAt > maxWallTimeSeconds * 1_000)
    return refuse('maxWallTimeSeconds', maxWallTimeSeconds)
  return null
}
