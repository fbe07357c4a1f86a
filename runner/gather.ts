import { artifactRefusal, budgetRefusal, exceedsArtifacts, exceedsOutput, writtenBytes } from './budgets.ts'
import type { RunContext } from './context.ts'
import { controlMove } from './expansion/control.ts'
import { readinessOf } from './expansion/readiness.ts'
import { moveTask } from './moves.ts'
import { type AskedEffect, propose, type View } from './proposal.ts'
import { settle } from './settle.ts'
import type { Slot } from './slot.ts'
import { isOver } from './state.ts'

/** Proposes ready tasks until the batch is full; what needs no executor is settled on the way. */
export async function gather(context: RunContext): Promise<{ slots: Slot[]; settled: boolean }> {
  const { state, plan } = context
  const slots: Slot[] = []
  const view = { memory: state.memory, tasks: state.outputs }
  let settled = false
  let reserved = 0
  state.sweepIfMany()
  for (const id of state.open) {
    if (slots.length >= plan.maxConcurrency || state.mustStop() || context.stop.aborted) break
    const { state: taskState, deferred } = state.status(id)
    if (deferred || isOver(taskState)) continue
    const readiness = readinessOf(state, id)
    if (readiness === 'blocked') continue
    if (readiness !== 'ready') {
      context.carry.push(await moveTask(context, id, readiness))
      settled = true
      continue
    }
    const refusal = budgetRefusal(context, id, slots)
    if (refusal === null && (await settleControl(context, id, view))) {
      settled = true
      continue
    }
    const proposal = refusal ?? (await propose(context, id, view))
    if (proposal.kind !== 'ready') {
      context.carry.push(...(await settle(context, id, proposal)))
      settled = true
      continue
    }
    const bytes = writtenBytes(proposal.asked)
    const overlaps = slots.some(slot => samePlace(slot.asked, proposal.asked))
    const together = [...slots.map(slot => slot.asked), proposal.asked]
    const exceeds = exceedsArtifacts(context, reserved + bytes) || exceedsOutput(context, together)
    if (overlaps || (slots.length > 0 && exceeds)) {
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

/** Computes a task that has no effect of its own; false for any other. */
async function settleControl(context: RunContext, id: string, view: View): Promise<boolean> {
  const task = context.state.task(id)
  if (task.control === undefined) return false
  context.carry.push(await moveTask(context, id, await controlMove(context, task, task.control, view)))
  return true
}

/** Two writes of one file never share a batch: the second one's decision is about the first one's result. */
function samePlace(left: AskedEffect, right: AskedEffect): boolean {
  const place = (asked: AskedEffect) =>
    asked.facts.kind === 'write' && asked.facts.path.known ? asked.facts.path.absolute : null
  return place(left) !== null && place(left) === place(right)
}
