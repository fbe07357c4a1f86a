import { isLongTermMemory } from '../policy/effect.ts'
import { commit, type RunContext } from './context.ts'
import { errorOf } from './drafts.ts'
import { gather } from './gather.ts'
import { runInside } from './inside.ts'
import type { Draft } from './journal.ts'
import { type Move, moveTask } from './moves.ts'
import { openOutside, runOutside } from './outside.ts'
import { settle } from './settle.ts'
import type { Slot, SlotEnd } from './slot.ts'

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
    if (outside.length > 0) await openOutside(context, outside)
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

/** No outside effect: nothing happens but in agentctl's own state, the long-term memory included. */
function isInside({ asked }: Slot): boolean {
  const { effectClass, kind } = asked.task.action
  return effectClass === 'pure' || effectClass === 'internal_state' || isLongTermMemory(kind)
}

async function closeSlot(context: RunContext, slot: Slot, end: SlotEnd): Promise<Draft[]> {
  if (end.kind === 'proposal') return settle(context, slot.id, end.proposal)
  const { result, rows } = end
  const { condition } = slot
  const { enforcement } = result
  const move: Move =
    result.kind === 'succeeded'
      ? { to: 'succeeded', output: result.output, condition, enforcement }
      : { to: result.kind, error: errorOf(context, result), condition, enforcement }
  return [...rows, await moveTask(context, slot.id, move)]
}
