import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../policy/json.ts'
import { countUse, retryRefusal, withinArtifacts } from './budgets.ts'
import { commit, type RunContext, report } from './context.ts'
import { decidedBy } from './decided-by.ts'
import { errorOf, finishDraft, requestDraft, startDraft } from './drafts.ts'
import type { EffectResult } from './executor.ts'
import type { Draft } from './journal.ts'
import { moveTask } from './moves.ts'
import { type AskedEffect, propose, type Settled } from './proposal.ts'
import { type Slot, type SlotEnd, waitFor } from './slot.ts'
import { underWallTime } from './wall-time.ts'

/** The one commit before executors start: what is carried, then each request with its decision and its start. */
export async function openOutside(context: RunContext, slots: readonly Slot[]): Promise<void> {
  const drafts: Draft[] = []
  for (const slot of slots) {
    context.state.startedTasks += 1
    drafts.push(...(await opening(context, slot)))
  }
  await commit(context, drafts)
}

async function opening(context: RunContext, { id, asked, recorded, condition }: Slot): Promise<Draft[]> {
  const move = await moveTask(context, id, { to: 'running', condition })
  const { steps } = asked.decision
  report(context, { type: 'decision', task: id, outcome: 'allow', reason: decidedBy(asked), steps })
  const request = recorded ? [] : [await requestDraft(context, asked)]
  return [move, ...request, startDraft(asked)]
}

export async function runOutside(
  context: RunContext,
  slots: readonly Slot[],
  alone: boolean,
): Promise<[string, SlotEnd][]> {
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
    await sleep(backoffMs, undefined, { signal: AbortSignal.any([context.stop, context.timeUp.signal]) }).catch(
      () => {},
    )
    if (context.stop.aborted)
      return { kind: 'proposal', proposal: cancelledProposal(slot.condition, 'the run was cancelled before the retry') }
    const refusal = retryRefusal(context, slot.id)
    if (refusal !== null) return { kind: 'proposal', proposal: { ...refusal, condition: slot.condition } }
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
  if (!context.stop.aborted) await context.journal.assertMayStart()
  if (context.stop.aborted) return { kind: 'cancelled', message: 'the run was cancelled before it started' }
  const seen = await waitFor(prepared, AbortSignal.any([context.stop, context.timeUp.signal]))
  const result = withinArtifacts(context, underWallTime(context, seen))
  context.unrecorded.set(asked.effect, {
    task: id,
    to: result.kind,
    result: result.kind === 'cancelled' ? null : context.host.secrets.redactor.json(result.output),
  })
  countUse(context, result)
  return result
}

function mayRetry(context: RunContext, { task, attempt }: AskedEffect, result: EffectResult): boolean {
  return result.kind === 'failed' && result.retrySafe && attempt < task.retry.maxAttempts && !context.stop.aborted
}

function cancelledProposal(condition: JsonObject | null, message: string): Settled {
  return { kind: 'decided', to: 'cancelled', code: 'cancelled', message, condition }
}
