import type { RunContext } from './context.ts'
import { finishDraft, pureDraft, requestDraft, startDraft } from './drafts.ts'
import type { EffectResult } from './executor.ts'
import type { Draft } from './journal.ts'
import type { AskedEffect } from './proposal.ts'
import { type Slot, type SlotEnd, waitFor } from './slot.ts'

/** Pure and memory effects: done at once. Their rows go with their task's move, since nothing else keeps a pure result. */
export async function runInside(context: RunContext, slots: readonly Slot[]): Promise<[string, SlotEnd][]> {
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
