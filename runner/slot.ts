import type { JsonObject } from '../policy/json.ts'
import { describeError } from '../policy/redact.ts'
import type { EffectResult, Prepared } from './executor.ts'
import type { Draft } from './journal.ts'
import type { AskedEffect, Settled } from './proposal.ts'

/** A task of a batch whose effect may run. */
export interface Slot {
  id: string
  asked: AskedEffect
  prepared: Prepared
  recorded: boolean
  condition: JsonObject | null
}

/** How a slot ended: its effect's last result with the rows that go with the task's move, or a proposal that a retry came to. */
export type SlotEnd = { kind: 'result'; result: EffectResult; rows: Draft[] } | { kind: 'proposal'; proposal: Settled }

/** An executor that breaks its promise not to throw leaves its effect uncertain. */
export async function waitFor(prepared: Prepared, stop: AbortSignal): Promise<EffectResult> {
  try {
    return await prepared.start(stop).wait
  } catch (error) {
    return { kind: 'uncertain', code: 'internal_error', message: describeError(error), output: null }
  }
}
