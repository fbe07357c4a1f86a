import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../policy/json.ts'
import { describeError } from '../policy/redact.ts'
import { commit, type RunContext, report } from './context.ts'
import { errorOf, finishDraft, pureDraft, requestDraft, startDraft } from './drafts.ts'
import type { EffectResult, Prepared } from './executor.ts'
import type { Draft } from './journal.ts'
import { type Move, moveTask } from './moves.ts'
import { type AskedEffect, type Proposal, propose } from './proposal.ts'

/** A task of a batch whose effect may run. */
interface Slot {
  id: string
  asked: AskedEffect
  prepared: Prepared
  recorded: boolean
  condition: JsonObject | null
}

/** How a slot ended: its effect's last result with the rows that go with the task's move, or a proposal that a retry came to. */
type SlotEnd =
  | { kind: 'result'; result: EffectResult; rows: Draft[] }
  | { kind: 'proposal'; proposal: Exclude<Proposal, { kind: 'ready' }> }

/**
 * Runs one batch: ready tasks in plan order, as many as the plan allows at once, all on the memory as it was before.
 * Their moves commit together in plan order with the next boundary. False when no task was ready.
 */
export async function runBatch(context: RunContext): Promise<boolean> {
  const { slots, settled } = await gather(context)
  if (slots.length === 0) return settled
  const inside = slots.filter(isInside)
  const outside = slots.filter(slot => !isInside(slot))
  try {
    const insideEnds = await runInside(context, inside)
    if (outside.length > 0) await open(context, outside)
    const outsideEnds = await runOutside(context, outside, slots.length === 1)
    const ends = new Map([...insideEnds, ...outsideEnds])
    for (const slot of slots) {
      const end = ends.get(slot.id)
      if (end !== undefined) context.carry.push(...(await closeSlot(context, slot, end)))
    }
  } finally {
    for (const { prepared } of slots) prepared.close()
  }
  if (outside.length === 0 && isDue(context)) await commit(context, [])
  return true
}

const shareMilliseconds = 5
const maxShared = 64

/**
 * Boundaries that follow one another at once share a commit: only pure and memory effects do, and losing the last few
 * milliseconds of those loses nothing but their computation.
 */
function isDue({ carry, committedAt }: RunContext): boolean {
  return carry.length >= maxShared || performance.now() - committedAt > shareMilliseconds
}

/** No outside effect: nothing happens but in agentctl's own state. */
function isInside({ asked }: Slot): boolean {
  const { effectClass } = asked.task.action
  return effectClass === 'pure' || effectClass === 'internal_state'
}

/** Proposes ready tasks until the batch is full; what needs no executor is settled on the way. */
async function gather(context: RunContext): Promise<{ slots: Slot[]; settled: boolean }> {
  const { state, plan } = context
  const slots: Slot[] = []
  const view = { memory: state.memory, tasks: state.outputs }
  let settled = false
  let reserved = 0
  state.sweep()
  for (const id of state.open) {
    if (slots.length >= plan.maxConcurrency || state.mustStop() || context.stop.aborted) break
    const readiness = readinessOf(context, id)
    if (readiness === 'blocked' || state.status(id).deferred) continue
    if (readiness !== 'ready') {
      context.carry.push(await moveTask(context, id, readiness))
      settled = true
      continue
    }
    const refusal = budgetRefusal(context, slots.length)
    const proposal = refusal ?? (await propose(context, id, view))
    if (proposal.kind !== 'ready') {
      context.carry.push(...(await settle(context, id, proposal)))
      settled = true
      continue
    }
    const bytes = artifactBytes(proposal.asked)
    const overlaps = slots.some(slot => samePlace(slot.asked, proposal.asked))
    if (overlaps || (slots.length > 0 && exceedsArtifacts(context, reserved + bytes))) {
      proposal.prepared.close()
      break
    }
    if (exceedsArtifacts(context, bytes)) {
      proposal.prepared.close()
      context.carry.push(...(await settle(context, id, artifactRefusal(context, proposal.condition))))
      settled = true
      continue
    }
    reserved += bytes
    slots.push({ id, ...proposal })
  }
  return { slots, settled }
}

type Readiness = 'ready' | 'blocked' | Move

/** What its dependencies make of a task: skipped after a skipped one, cancelled after one that did not succeed. */
function readinessOf({ state }: RunContext, id: string): Readiness {
  let blocked = false
  let skipped = ''
  for (const need of state.task(id).needs) {
    switch (state.status(need).state) {
      case 'succeeded':
        break
      case 'skipped':
        skipped ||= need
        break
      case 'failed':
      case 'denied':
      case 'uncertain':
      case 'cancelled':
        return { to: 'cancelled', error: { code: 'dependency', message: `task ${need} did not succeed` } }
      default:
        blocked = true
    }
  }
  if (blocked) return 'blocked'
  return skipped === '' ? 'ready' : { to: 'skipped', output: { reason: `task ${skipped} was skipped` } }
}

/** Records what a proposal came to without an executor. An effect that must be asked about waits for the pause. */
async function settle(
  context: RunContext,
  id: string,
  proposal: Exclude<Proposal, { kind: 'ready' }>,
): Promise<Draft[]> {
  const { condition } = proposal
  switch (proposal.kind) {
    case 'ask':
      context.state.status(id).deferred = true
      report(context, { type: 'decision', task: id, outcome: 'ask', reason: proposal.asked.decision.reason })
      return []
    case 'deny': {
      const { reason } = proposal.asked.decision
      report(context, { type: 'decision', task: id, outcome: 'deny', reason })
      const request = await requestDraft(context, proposal.asked)
      return [
        request,
        await moveTask(context, id, { to: 'denied', error: { code: 'policy_denied', message: reason }, condition }),
      ]
    }
    case 'skipped':
      return [await moveTask(context, id, { to: 'skipped', output: proposal.output, condition })]
    case 'unchanged':
      return [await moveTask(context, id, { to: 'succeeded', output: proposal.output, condition })]
    case 'failed':
    case 'decided': {
      const to = proposal.kind === 'failed' ? 'failed' : proposal.to
      return [await moveTask(context, id, { to, error: { code: proposal.code, message: proposal.message }, condition })]
    }
  }
}

/** Pure and memory effects: done at once. Their rows go with their task's move, since nothing else keeps a pure result. */
async function runInside(context: RunContext, slots: readonly Slot[]): Promise<[string, SlotEnd][]> {
  const ends: [string, SlotEnd][] = []
  for (const { id, asked, prepared, recorded } of slots) {
    const result = await waitFor(prepared, context.stop)
    context.state.startedTasks += 1
    ends.push([id, { kind: 'result', result, rows: await insideRows(context, asked, recorded, result) }])
  }
  return ends
}

async function insideRows(
  context: RunContext,
  asked: AskedEffect,
  recorded: boolean,
  result: EffectResult,
): Promise<Draft[]> {
  const isPlain = asked.task.action.effectClass === 'pure' && !recorded && asked.decision.outcome === 'allow'
  if (isPlain) return [pureDraft(context, asked, result)]
  const request = recorded ? [] : [await requestDraft(context, asked)]
  return [...request, startDraft(asked), await finishDraft(context, asked.effect, result)]
}

/** The one commit before executors start: what is carried, then each request with its decision and its start. */
async function open(context: RunContext, slots: readonly Slot[]): Promise<void> {
  const drafts: Draft[] = []
  for (const slot of slots) {
    context.state.startedTasks += 1
    drafts.push(...(await opening(context, slot)))
  }
  await commit(context, drafts)
}

async function opening(context: RunContext, { id, asked, recorded, condition }: Slot): Promise<Draft[]> {
  const move = await moveTask(context, id, { to: 'running', condition })
  const request = recorded ? [] : [await requestDraft(context, asked)]
  return [move, ...request, startDraft(asked)]
}

async function runOutside(context: RunContext, slots: readonly Slot[], alone: boolean): Promise<[string, SlotEnd][]> {
  const ends = await Promise.allSettled(
    slots.map(async (slot): Promise<[string, SlotEnd]> => [slot.id, await runSlot(context, slot, alone)]),
  )
  // One result that could not be delivered does not end the others: each is seen and offered before the run gives up.
  const lost = ends.find(end => end.status === 'rejected')
  if (lost !== undefined) throw lost.reason
  return ends.flatMap(end => (end.status === 'fulfilled' ? [end.value] : []))
}

/** Runs an effect and repeats it where that is allowed; alone in its batch, its last result travels with the next boundary. */
async function runSlot(context: RunContext, first: Slot, alone: boolean): Promise<SlotEnd> {
  let slot = first
  for (;;) {
    const { asked } = slot
    const result = await runEffect(context, slot)
    slot.prepared.close()
    const finish = await finishDraft(context, asked.effect, result)
    if (!mayRetry(context, asked, result)) {
      if (alone) return { kind: 'result', result, rows: [finish] }
      await record(context, [finish])
      return { kind: 'result', result, rows: [] }
    }
    const { backoffMs } = asked.task.retry
    const error = errorOf(context, result)
    await record(context, [
      finish,
      await moveTask(context, slot.id, { to: 'pending', attempt: asked.attempt + 1, error }),
    ])
    await sleep(backoffMs, undefined, { signal: context.stop }).catch(() => {})
    if (context.stop.aborted)
      return { kind: 'proposal', proposal: cancelledProposal(slot.condition, 'the run was cancelled before the retry') }
    const proposal = await propose(context, slot.id, { memory: context.state.memory, tasks: context.state.outputs })
    if (proposal.kind !== 'ready') return { kind: 'proposal', proposal }
    slot = { id: slot.id, ...proposal }
    await record(context, await opening(context, slot))
  }
}

/** Commits without what is carried: another slot of the batch may still be adding to it. */
async function record(context: RunContext, drafts: readonly Draft[]): Promise<void> {
  await context.journal.applyShared(drafts)
  for (const draft of drafts) if (draft.type === 'effect.finish') context.unrecorded.delete(draft.effect)
}

async function runEffect(context: RunContext, { id, asked, prepared }: Slot): Promise<EffectResult> {
  if (context.stop.aborted) return { kind: 'cancelled', message: 'the run was cancelled before it started' }
  await context.journal.assertMayStart()
  const result = await waitFor(prepared, context.stop)
  context.unrecorded.set(asked.effect, {
    task: id,
    to: result.kind,
    result: result.kind === 'cancelled' ? null : context.host.secrets.redactor.json(result.output),
  })
  count(context, result)
  return result
}

/** An executor that breaks its promise not to throw leaves its effect uncertain. */
async function waitFor(prepared: Prepared, stop: AbortSignal): Promise<EffectResult> {
  try {
    return await prepared.start(stop).wait
  } catch (error) {
    return { kind: 'uncertain', code: 'internal_error', message: describeError(error), output: null }
  }
}

function count({ state }: RunContext, result: EffectResult): void {
  if (result.kind === 'cancelled') return
  for (const { bytes } of result.kind === 'succeeded' ? result.artifacts : []) state.artifactBytes += bytes?.length ?? 0
  const { output } = result
  if (output === null || typeof output !== 'object' || Array.isArray(output)) return
  for (const stream of [output['stdout'], output['stderr']])
    if (typeof stream === 'string') state.outputBytes += Buffer.byteLength(stream)
}

function mayRetry(context: RunContext, { task, attempt }: AskedEffect, result: EffectResult): boolean {
  return result.kind === 'failed' && result.retrySafe && attempt < task.retry.maxAttempts && !context.stop.aborted
}

async function closeSlot(context: RunContext, slot: Slot, end: SlotEnd): Promise<Draft[]> {
  if (end.kind === 'proposal') return settle(context, slot.id, end.proposal)
  const { result, rows } = end
  const { condition } = slot
  const move: Move =
    result.kind === 'succeeded'
      ? { to: 'succeeded', output: result.output, condition }
      : { to: result.kind, error: errorOf(context, result), condition }
  return [...rows, await moveTask(context, slot.id, move)]
}

function cancelledProposal(condition: JsonObject | null, message: string): Exclude<Proposal, { kind: 'ready' }> {
  return { kind: 'decided', to: 'cancelled', code: 'cancelled', message, condition }
}

/** Two writes of one file never share a batch: the second one's decision is about the first one's result. */
function samePlace(left: AskedEffect, right: AskedEffect): boolean {
  const place = (asked: AskedEffect) =>
    asked.facts.kind === 'write' && asked.facts.path.known ? asked.facts.path.absolute : null
  return place(left) !== null && place(left) === place(right)
}

function artifactBytes({ expected }: AskedEffect): number {
  return expected.kind === 'write' ? expected.bytes : 0
}

const defaultArtifactBytes = 16 * 1_048_576

function maxArtifactBytes({ plan }: RunContext): number {
  return plan.budgets['maxArtifactBytes'] ?? defaultArtifactBytes
}

function exceedsArtifacts(context: RunContext, bytes: number): boolean {
  return context.state.artifactBytes + bytes > maxArtifactBytes(context)
}

function artifactRefusal(context: RunContext, condition: JsonObject | null): Exclude<Proposal, { kind: 'ready' }> {
  const message = `the files that this run keeps would exceed maxArtifactBytes (${maxArtifactBytes(context)}); raise it or write less`
  return { kind: 'failed', code: 'artifact_limit', message, condition }
}

/** Budgets over tasks and time; what is beyond one is not started. */
function budgetRefusal(context: RunContext, pending: number): Exclude<Proposal, { kind: 'ready' }> | null {
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
