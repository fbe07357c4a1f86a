import type { ExpectedEffect } from '../policy/approval/record.ts'
import type { Decision } from '../policy/decision/decision.ts'
import { membersOf } from '../policy/document/collected.ts'
import { predictabilityOfKind } from '../policy/document/index.ts'
import type { Plan, PlanTask } from '../policy/document/plan.ts'
import type { Predictability } from '../policy/effect.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import { memoryDelta, shownExpected } from './drafts.ts'
import { predictControl, remember, waitsForOutput } from './expansion/predict.ts'
import { bind } from './open-run.ts'
import { type AskedEffect, type Proposal, type Proposer, propose } from './proposal.ts'
import type { RunnerPorts } from './run.ts'
import { RunState } from './state.ts'

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
 * - denied, failed: would stop there, `reason` says why; skipped: its condition is false, or what it needs is skipped;
 * - unknown: depends on output that only a run gives, or comes after what would not succeed.
 */
export interface TaskPrediction {
  task: string
  kind: string
  outcome: 'run' | 'unchanged' | 'ask' | 'denied' | 'failed' | 'skipped' | 'unknown'
  reason: string
  /**
   * How much of what the task comes to is known before it runs: all of it; the effect but not its result; or that it would
   * run at most (`none`: a process may do anything, and what depends on output to come is not known).
   */
  predictability: Predictability
  /** The effect as an approval would show it, a diff for a write; null where unknown. Redacted. */
  expected: ExpectedEffect | null
  /** The five answers about the effect; null where nothing would be requested, or its input is not known. Redacted. */
  decision: Decision | null
  /** Output where it is known already (pure tasks, unchanged writes), else null. Redacted. */
  output: Json
}

type PredictPorts = Pick<
  RunnerPorts,
  'workspace' | 'environment' | 'protectedPaths' | 'temporaryDirectories' | 'searchPath' | 'interactive' | 'hostFloor'
>

/**
 * Predicts a run (`run --check --diff`): facts and decisions are taken as for a run, and nothing is changed. Throws
 * UnknownFact where the policy's workspace cannot be had.
 */
export async function predictRun(ports: PredictPorts, plan: Plan): Promise<Prediction> {
  const bound = bind(ports, plan, () => {})
  const context = {
    ...bound,
    run: 'prediction',
    plan,
    parent: null,
    state: new RunState(plan),
    ports: interactiveOf(ports),
  }
  const { redactor } = bound.host.secrets
  const outcomes = new Map<string, TaskPrediction['outcome']>()
  const touched = new Set<string>()
  const tasks: TaskPrediction[] = []
  for (const id of plan.order) {
    const task = context.state.task(id)
    const predicted =
      needed(task, outcomes) ??
      (await predictControl(context, task, outcomes)) ??
      (await predictTask(context, id, touched))
    outcomes.set(id, predicted.outcome)
    remember(context.state, id, predicted)
    tasks.push({
      task: id,
      kind: task.action.kind,
      outcome: predicted.outcome,
      reason: redactor.text(predicted.reason),
      predictability: predictabilityOf(task, predicted),
      expected: predicted.expected === null ? null : shownExpected(redactor, predicted.expected),
      decision: redactor.json(predicted.decision as unknown as Json) as unknown as Decision | null,
      output: redactor.json(predicted.output),
    })
  }
  return {
    tasks,
    refused: tasks.some(({ outcome }) => outcome === 'denied' || outcome === 'failed'),
    asks: tasks.some(({ outcome }) => outcome === 'ask'),
  }
}

/**
 * An end that is known already is known in full; of what would run, or would be asked about, the input is known, so the
 * rest is its kind's to say.
 */
function predictabilityOf({ action, control }: PlanTask, { outcome }: Judged): Predictability {
  if (outcome === 'unknown') return 'none'
  if (control !== undefined || (outcome !== 'run' && outcome !== 'ask')) return 'full'
  return predictabilityOfKind(action.kind)
}

export type Judged = Pick<TaskPrediction, 'outcome' | 'reason' | 'expected' | 'output'>
export type Predicted = Judged & Pick<TaskPrediction, 'decision'>

function needed(task: PlanTask, outcomes: Map<string, TaskPrediction['outcome']>): Predicted | null {
  const members = new Set(membersOf(task.control))
  const needs = task.needs.filter(need => !members.has(need))
  const skipped = needs.find(need => outcomes.get(need) === 'skipped')
  const stopped = needs.find(need => ['denied', 'failed'].includes(outcomes.get(need) ?? ''))
  if (stopped !== undefined) return { ...only('unknown', `task ${stopped} would not succeed`), decision: null }
  if (skipped !== undefined)
    return {
      outcome: 'skipped',
      reason: `task ${skipped} would be skipped`,
      expected: null,
      decision: null,
      output: { reason: `task ${skipped} was skipped` },
    }
  return null
}

async function predictTask(context: Proposer, id: string, touched: Set<string>): Promise<Predicted> {
  const { state } = context
  // No engine is asked before a run: only that tells whether the image is there.
  if (state.task(id).action.container !== undefined)
    return { ...only('unknown', 'its engine and image are looked for when it runs'), decision: null }
  const proposal = await propose(context, id, { memory: state.memory, tasks: state.outputs })
  const decision = 'asked' in proposal ? proposal.asked.decision : null
  return { ...(await predictProposal(context, id, proposal, touched)), decision }
}

async function predictProposal(
  context: Proposer,
  id: string,
  proposal: Proposal,
  touched: Set<string>,
): Promise<Judged> {
  if (proposal.kind === 'failed' && proposal.code === 'invalid_template' && waitsForOutput(context, id))
    return only('unknown', proposal.message)
  const asked = 'asked' in proposal ? proposal.asked : null
  const file = asked === null ? null : fileOf(asked)
  if (proposal.kind !== 'ready') {
    if (asked !== null && asked.task.action.effectClass === 'process_execution') touched.add('*')
    return file !== null && isTouched(touched, file)
      ? only('unknown', `${file} would be changed before`)
      : settled(proposal)
  }
  try {
    return await ready(context, proposal, touched, file)
  } finally {
    proposal.prepared.close()
  }
}

async function ready(
  context: Proposer,
  { asked, prepared }: Extract<Proposal, { kind: 'ready' }>,
  touched: Set<string>,
  file: string | null,
): Promise<Judged> {
  const { state } = context
  const { effectClass, kind } = asked.task.action
  const inside = effectClass === 'pure' || effectClass === 'internal_state'
  const reads = effectClass === 'observe' && (file === null || !isTouched(touched, file))
  // What lies in the long-term memory is not looked at: the run would find what is there by then.
  if (asked.facts.kind === 'ledger')
    return { ...only('run', 'its result is known in the run only'), expected: prepared.expected }
  if (inside || reads) {
    const result = await prepared.start(AbortSignal.abort()).wait
    if (result.kind !== 'succeeded')
      return only('failed', result.kind === 'cancelled' ? result.message : `${result.code}: ${result.message}`)
    state.outputs[asked.task.id] = { output: result.output }
    const delta: JsonObject | null = memoryDelta(kind, result.output)
    if (delta !== null) state.memory = { ...state.memory, ...delta }
    return { outcome: 'run', reason: '', expected: prepared.expected, output: result.output }
  }
  if (file !== null && isTouched(touched, file)) return only('unknown', `${file} would be changed before`)
  touch(asked, touched)
  return { outcome: 'run', reason: '', expected: prepared.expected, output: null }
}

function settled(proposal: Exclude<Proposal, { kind: 'ready' }>): Judged {
  switch (proposal.kind) {
    case 'ask':
      return { outcome: 'ask', reason: proposal.asked.decision.reason, expected: proposal.asked.expected, output: null }
    case 'deny':
      return {
        outcome: 'denied',
        reason: proposal.asked.decision.reason,
        expected: proposal.asked.expected,
        output: null,
      }
    case 'unchanged':
      return { outcome: 'unchanged', reason: '', expected: null, output: proposal.output }
    case 'skipped':
      return { outcome: 'skipped', reason: 'the condition is false', expected: null, output: proposal.output }
    case 'failed':
    case 'decided':
      return only('failed', `${proposal.code}: ${proposal.message}`)
  }
}

function fileOf({ facts }: AskedEffect): string | null {
  if ((facts.kind === 'write' || facts.kind === 'read') && facts.path.known) return facts.path.path
  return null
}

/** A process may change anything. */
function touch(asked: AskedEffect, touched: Set<string>): void {
  const { effectClass } = asked.task.action
  if (effectClass === 'workspace_mutate') touched.add(fileOf(asked) ?? '*')
  else if (effectClass !== 'observe') touched.add('*')
}

function isTouched(touched: Set<string>, file: string): boolean {
  return touched.has('*') || touched.has(file)
}

function only(outcome: TaskPrediction['outcome'], reason: string): Judged {
  return { outcome, reason, expected: null, output: null }
}

function interactiveOf({ interactive }: PredictPorts): { interactive?: boolean } {
  return interactive === undefined ? {} : { interactive }
}
