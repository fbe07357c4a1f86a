import type { RunSnapshot } from '../ledger/port.ts'
import type { JsonObject } from '../policy/json.ts'
import type { TaskState } from '../policy/states.ts'
import type { RunContext } from './context.ts'
import type { EffectResult } from './executor.ts'
import type { AskedEffect, Proposal } from './proposal.ts'
import type { RunState } from './state.ts'
import { budgetMessage, isOutOfTime } from './wall-time.ts'

type Refusal = Extract<Proposal, { kind: 'failed' }>

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
  state.outputBytes += printedBytes(result.enforcement)
}

/** A result whose files the run may not keep any more is a failure: several of one batch can use up the rest together. */
export function withinArtifacts(context: RunContext, result: EffectResult): EffectResult {
  if (result.kind !== 'succeeded') return result
  const bytes = result.artifacts.reduce((sum, artifact) => sum + (artifact.bytes?.length ?? 0), 0)
  if (bytes === 0 || !exceedsArtifacts(context, bytes)) return result
  const { artifacts: _, ...rest } = result
  return { ...rest, kind: 'failed', code: 'artifact_limit', message: artifactMessage(context), retrySafe: false }
}

/** Whether processes of one batch could print more together than the run may still print. */
export function exceedsOutput(context: RunContext, asked: readonly AskedEffect[]): boolean {
  const bytes = asked.reduce((sum, { task }) => sum + (task.action.process?.combinedOutputLimitBytes ?? 0), 0)
  return bytes > outputBytesLeft(context)
}

/** Takes note of what earlier attempts of the run used up, by their record. */
export function countRecorded(state: RunState, { tasks, effects, activeMilliseconds }: RunSnapshot): void {
  state.earlierMilliseconds = activeMilliseconds ?? 0
  const started = new Set<string>()
  for (const { artifacts, enforcement, startedAt, task } of effects) {
    if (startedAt !== null) started.add(task)
    for (const { blob } of artifacts) state.artifactBytes += blob?.bytes ?? 0
    state.outputBytes += printedBytes(enforcement)
  }
  state.startedTasks = tasks.filter(({ task }) => started.has(task)).length
}

/** What the processes of an effect printed, whatever became of it. */
function printedBytes(enforcement: JsonObject | null | undefined): number {
  const bytes = enforcement?.['printedBytes']
  return typeof bytes === 'number' ? bytes : 0
}

export function exceedsArtifacts(context: RunContext, bytes: number): boolean {
  return context.state.artifactBytes + bytes > maxArtifactBytes(context)
}

export function artifactRefusal(context: RunContext, condition: JsonObject | null): Refusal {
  return { kind: 'failed', code: 'artifact_limit', message: artifactMessage(context), condition }
}

function artifactMessage(context: RunContext): string {
  return `the files that this run keeps would exceed maxArtifactBytes (${maxArtifactBytes(context)}); raise it or write less`
}

/**
 * Budgets over tasks, loop iterations and time; what is beyond one is not started. `slots` are about to start. A task
 * that collects results uses up nothing.
 */
export function budgetRefusal(context: RunContext, id: string, slots: readonly { id: string }[]): Refusal | null {
  const { plan, state } = context
  const { budgets } = plan
  const { control, iteration, compensates } = state.task(id)
  const refuse = (name: string, limit: number) => exceeded(budgetMessage(name, limit))
  const { maxTasks, maxLoopIterations } = budgets
  const isIteration = iteration !== undefined && control?.kind !== 'iterations' && compensates === undefined
  if (isIteration && maxLoopIterations !== undefined && iterationsBegun(context, slots) >= maxLoopIterations)
    return refuse('maxLoopIterations', maxLoopIterations)
  if (control !== undefined) return null
  if (maxTasks !== undefined && state.startedTasks + slots.length >= maxTasks) return refuse('maxTasks', maxTasks)
  return retryRefusal(context, id)
}

/** Why a task does not begin any more, nor another attempt of it; null where time and output are left. */
export function retryRefusal(context: RunContext, id: string): Refusal | null {
  return wallTimeRefusal(context) ?? outputRefusal(context, id)
}

/** A process that could print nothing is not started, whether it would print or not. */
function outputRefusal(context: RunContext, id: string): Refusal | null {
  const { maxProcessOutputBytes } = context.plan.budgets
  if (maxProcessOutputBytes === undefined || context.state.task(id).action.process === null) return null
  if (outputBytesLeft(context) > 0) return null
  return exceeded(budgetMessage('maxProcessOutputBytes', maxProcessOutputBytes))
}

function wallTimeRefusal(context: RunContext): Refusal | null {
  const { maxWallTimeSeconds } = context.plan.budgets
  if (maxWallTimeSeconds === undefined || !isOutOfTime(context)) return null
  return exceeded(budgetMessage('maxWallTimeSeconds', maxWallTimeSeconds))
}

function exceeded(message: string): Refusal {
  return { kind: 'failed', code: 'budget_exceeded', message, condition: null }
}

const begun: ReadonlySet<TaskState> = new Set(['running', 'succeeded', 'failed', 'denied', 'uncertain'])

/** Iterations that have begun, in this attempt or an earlier one, or are about to. */
function iterationsBegun({ state }: RunContext, slots: readonly { id: string }[]): number {
  const starting = new Set(slots.map(({ id }) => id))
  let count = 0
  for (const [id, { state: now }] of state.tasks) {
    const { control, iteration, compensates } = state.task(id)
    if (iteration === undefined || control?.kind === 'iterations' || compensates !== undefined) continue
    if (begun.has(now) || starting.has(id)) count += 1
  }
  return count
}
