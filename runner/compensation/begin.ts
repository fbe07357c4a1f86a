import { compensationsOf, withCompensations } from '../../ledger/run-plan.ts'
import { commit, type RunContext } from '../context.ts'
import { cancelOpen } from '../moves.ts'
import { patiently } from '../patience.ts'
import { defaultTimings } from '../run.ts'

/**
 * Where a run fails whose document says `onFailure: automatic`, makes what there is to undo tasks of the run, before it
 * ends. False where there is nothing to do, or where somebody stopped the run: a person may still compensate it by hand.
 */
export async function beginCompensation(context: RunContext): Promise<boolean> {
  const { plan, ports, run, state, stop } = context
  if (plan.compensation?.onFailure !== 'automatic' || state.compensating || stop.aborted) return false
  state.sweep()
  const end = state.end()
  if (end !== 'failed' && end !== 'denied') return false
  await commit(context, await cancelOpen(context, 'the run failed before'))
  state.sweep()
  // The record alone knows in which order they ended, also those of an earlier attempt.
  const snapshot = await patiently(ports.timings ?? defaultTimings, stop, () => ports.ledger.snapshot(run))
  const tasks = snapshot === null ? [] : compensationsOf(snapshot)
  if (tasks.length === 0 || stop.aborted) return false
  await commit(context, [{ type: 'compensation.begin', tasks }])
  context.plan = withCompensations(plan, tasks)
  state.extend(context.plan)
  return true
}
