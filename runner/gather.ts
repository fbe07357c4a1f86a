import { artifactRefusal, budgetRefusal, exceedsArtifacts, writtenBytes } from './budgets.ts'
import type { RunContext } from './context.ts'
import { type Move, moveTask } from './moves.ts'
import { type AskedEffect, propose } from './proposal.ts'
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
    const readiness = readinessOf(context, id)
    if (readiness === 'blocked') continue
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
    const bytes = writtenBytes(proposal.asked)
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

/** Two writes of one file never share a batch: the second one's decision is about the first one's result. */
function samePlace(left: AskedEffect, right: AskedEffect): boolean {
  const place = (asked: AskedEffect) =>
    asked.facts.kind === 'write' && asked.facts.path.known ? asked.facts.path.absolute : null
  return place(left) !== null && place(left) === place(right)
}
