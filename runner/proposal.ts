import { LedgerError } from '../ledger/port.ts'
import type { ExpectedEffect } from '../policy/approval/record.ts'
import { type Binding, bindingDigest, changedFacts, effectId } from '../policy/binding.ts'
import { type Digest, digest } from '../policy/canonical.ts'
import type { Decision } from '../policy/decision/decision.ts'
import type { Facts } from '../policy/decision/facts.ts'
import { decide } from '../policy/decision/index.ts'
import { evaluateCondition, resolveValue, scopeOfTask } from '../policy/document/index.ts'
import type { PlanTask } from '../policy/document/plan.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import { describeError } from '../policy/redact.ts'
import { artifactBytesLeft, outputBytesLeft } from './budgets.ts'
import type { RunContext } from './context.ts'
import { ExecutorError, type Prepared } from './executor.ts'
import { checkInput } from './schemas.ts'

/** One effect as it will be recorded, and what was decided about it. */
export interface AskedEffect {
  task: PlanTask
  attempt: number
  effect: Digest
  input: JsonObject
  inputDigest: Digest
  binding: Binding
  bindingDigest: Digest
  decision: Decision
  facts: Facts
  expected: ExpectedEffect
  /** Facts that changed since an approval of this effect; empty where there was none. */
  changed: string[]
}

/**
 * What a ready task comes to before anything is requested.
 * - ready: may run now; `recorded` = its request stands in the ledger already. The caller closes `prepared`;
 * - ask: a person must decide; deny: nobody can change it;
 * - decided: a person or the clock has refused it already.
 */
export type Proposal =
  | { kind: 'skipped'; output: JsonObject; condition: JsonObject }
  | { kind: 'failed'; code: string; message: string; condition: JsonObject | null }
  | { kind: 'unchanged'; output: Json; condition: JsonObject | null }
  | { kind: 'deny'; asked: AskedEffect; condition: JsonObject | null }
  | { kind: 'ask'; asked: AskedEffect; condition: JsonObject | null }
  | { kind: 'ready'; asked: AskedEffect; prepared: Prepared; recorded: boolean; condition: JsonObject | null }
  | { kind: 'decided'; to: 'denied' | 'cancelled'; code: string; message: string; condition: JsonObject | null }

/** A proposal that needs no executor any more. */
export type Settled = Exclude<Proposal, { kind: 'ready' }>

/** What a proposal is made against; look-ahead hands in less than the run knows. */
export interface View {
  memory: JsonObject
  tasks: { readonly [id: string]: { output: Json } }
  /** Not its turn yet: a condition that cannot be known yet does not stand in the way. */
  ahead?: boolean
}

export type Proposer = Pick<
  RunContext,
  'run' | 'plan' | 'parent' | 'policy' | 'origins' | 'hostFloorDigest' | 'hostFloor' | 'host' | 'executors' | 'state'
> & { ports: Pick<RunContext['ports'], 'interactive'> }

/** Condition, input, facts, decision: in this order, with nothing requested and nothing changed. */
export async function propose(context: Proposer, id: string, view: View): Promise<Proposal> {
  const task = context.state.task(id)
  const { attempt } = context.state.status(id)
  const condition = conditionOf(context, task, view)
  if (condition?.kind === 'failed') return { ...condition, condition: null }
  if (condition !== null && !condition.result)
    return {
      kind: 'skipped',
      output: { reason: 'the condition is false', condition: condition.record },
      condition: condition.record,
    }
  const record = condition?.record ?? null

  const input = inputOf(context, task, view)
  if (!input.ok) return { kind: 'failed', code: 'invalid_template', message: input.message, condition: record }
  const executor = context.executors.get(task.action.kind)
  if (executor === undefined)
    return {
      kind: 'failed',
      code: 'unsupported_capability',
      message: `this runner has no executor for ${task.action.kind}; use a version that has`,
      condition: record,
    }
  const recordedInput = recordInput(task, input.value)
  const inputDigest = digest(recordedInput)
  const identity = { run: context.run, task: id, attempt, ordinal: 0, operation: task.action.kind, inputDigest }
  let prepared: Prepared
  try {
    if (task.action.extension === undefined) await checkInput(task.action, input.value)
    prepared = await executor.prepare({
      task,
      input: input.value,
      effectId: effectId(identity),
      run: context.run,
      memory: view.memory,
      artifactBytesLeft: artifactBytesLeft(context),
      outputBytesLeft: outputBytesLeft(context),
    })
  } catch (error) {
    if (error instanceof LedgerError) throw error
    const code = error instanceof ExecutorError ? error.code : 'internal_error'
    return {
      kind: 'failed',
      code,
      message: error instanceof ExecutorError ? error.message : describeError(error),
      condition: record,
    }
  }
  const asked = ask(context, task, attempt, recordedInput, inputDigest, prepared)
  return judge(context, asked, prepared, record)
}

function judge(context: Proposer, asked: AskedEffect, prepared: Prepared, condition: JsonObject | null): Proposal {
  const { decision } = asked
  if (decision.outcome === 'deny') {
    prepared.close()
    return { kind: 'deny', asked, condition }
  }
  if (prepared.unchanged !== null) {
    prepared.close()
    return { kind: 'unchanged', output: prepared.unchanged, condition }
  }
  const known = context.state.effects.get(asked.effect)
  if (known?.state === 'denied' || known?.state === 'cancelled') {
    prepared.close()
    const code = known.denial ?? known.state
    const message = known.error?.message ?? `${asked.task.action.kind} was ${code} by a person or by time`
    return { kind: 'decided', to: known.state, code, message, condition }
  }
  const changed = known === undefined ? [] : changedFacts(known.binding, asked.binding)
  if (known !== undefined && changed.length === 0 && (known.approval !== null || decision.outcome === 'allow'))
    return { kind: 'ready', asked, prepared, recorded: known.state === 'requested', condition }
  if (decision.outcome === 'allow' && (known === undefined || known.approval === null))
    return { kind: 'ready', asked: { ...asked, changed }, prepared, recorded: false, condition }
  prepared.close()
  return { kind: 'ask', asked: { ...asked, changed: known?.approval == null ? [] : changed }, condition }
}

/** Why a person is asked; where an approval was given before, also which of its facts changed. */
export function reasonToAsk({ decision, changed }: AskedEffect): string {
  return changed.length === 0 ? decision.reason : `${decision.reason} (asked again: ${changed.join(', ')})`
}

export type Condition =
  | { kind: 'decided'; result: boolean; record: JsonObject }
  | { kind: 'failed'; code: string; message: string }

/** What a task's `when` decides; null where it has none, or cannot be known ahead of its turn. */
export function conditionOf(context: Pick<Proposer, 'plan'>, task: PlanTask, view: View): Condition | null {
  if (task.when === null) return null
  const scoped = scopeOfTask(context.plan, task, view)
  const decided = scoped.ok ? evaluateCondition(task.when, scoped.scope) : scoped
  if (decided.ok) {
    const { expression, result, contextDigest } = decided
    return { kind: 'decided', result, record: { expression, result, contextDigest } }
  }
  return view.ahead ? null : { kind: 'failed', code: 'invalid_template', message: `when: ${decided.message}` }
}

function inputOf(context: Proposer, task: PlanTask, view: View) {
  const scoped = scopeOfTask(context.plan, task, view)
  if (!scoped.ok) return { ok: false as const, message: `vars: ${scoped.message}` }
  const input = resolveValue(task.with, scoped.scope)
  if (!input.ok) return { ok: false as const, message: `with: ${input.message}` }
  return { ok: true as const, value: input.value as JsonObject }
}

/** A process effect is what it runs; any other is its input. */
function recordInput(task: PlanTask, input: JsonObject): JsonObject {
  const { process: command } = task.action
  if (command === null) return input
  const { command: program, args, cwd, env } = command
  return {
    ...(Object.keys(input).length > 0 ? { with: input } : {}),
    command: program,
    args,
    cwd,
    env: env as JsonObject,
  }
}

function ask(
  context: Proposer,
  task: PlanTask,
  attempt: number,
  input: JsonObject,
  inputDigest: Digest,
  prepared: Prepared,
): AskedEffect {
  const { action } = task
  // Paths of the host may spell a secret; redacted here, what is compared at a resume is what was recorded.
  const binding = context.host.secrets.redactor.record({
    ...prepared.binding,
    ...(context.hostFloorDigest !== null && { host_floor: context.hostFloorDigest }),
  }) as Binding
  const decision = decide({
    effect: {
      task: task.id,
      agent: null,
      operation: action.kind,
      tool: action.tool,
      capabilities: action.capabilities,
      effectClass: action.effectClass,
      risk: action.risk,
      isolation: action.isolation,
      ...approvalOf(context, task),
      input,
      confirmedByParent: confirmedByParent(context, task, inputDigest),
    },
    facts: prepared.facts,
    policy: context.policy,
    origins: context.origins,
    canPause: context.ports.interactive ?? false,
    hostFloor: context.hostFloor,
  })
  return {
    task,
    attempt,
    effect: effectId({ run: context.run, task: task.id, attempt, ordinal: 0, operation: action.kind, inputDigest }),
    input,
    inputDigest,
    binding,
    bindingDigest: bindingDigest(binding),
    decision,
    facts: prepared.facts,
    expected: prepared.expected,
    changed: [],
  }
}

/** `spec.compensation.approval` speaks for what undoes a task; every other action leaves it to the policy. */
function approvalOf({ plan }: Proposer, { compensates }: PlanTask) {
  if (compensates === undefined) return { toolApproval: 'policy' as const }
  return { toolApproval: plan.compensation?.approval ?? 'policy', compensates: compensates.task }
}

/** The parent's confirmation of this very effect, where repeating it may do harm. */
function confirmedByParent({ parent }: Proposer, task: PlanTask, inputDigest: Digest): string | null {
  const { idempotency, effectClass, kind } = task.action
  if (parent === null || idempotency === 'pure' || idempotency === 'idempotent') return null
  if (effectClass === 'pure' || effectClass === 'observe' || effectClass === 'internal_state') return null
  if (parent === 'unreadable') return 'the record of the run before this one cannot be read here'
  const earlier = parent.confirmed.find(
    effect => effect.task === task.id && effect.operation === kind && effect.inputDigest === inputDigest,
  )
  return earlier === undefined ? null : `effect ${earlier.effect} of run ${parent.run}, ${earlier.at}`
}
