import { LedgerError } from '../ledger/port.ts'
import { resolveValue, scopeOfOutputs } from '../policy/document/index.ts'
import type { Json } from '../policy/json.ts'
import { exitCodes } from '../policy/states.ts'
import { runBatch } from './batch.ts'
import { beginCompensation } from './compensation/begin.ts'
import { compensationMessages } from './compensation/report.ts'
import { commit, type RunContext } from './context.ts'
import { shownMessage } from './drafts.ts'
import { cancelOpen } from './moves.ts'
import { endedOutcome, persistenceOutcome, reconcileCommand } from './outcome.ts'
import { patiently } from './patience.ts'
import { pauseRun } from './pause.ts'
import { defaultTimings, type RunOutcome } from './run.ts'
import { startWallTime } from './wall-time.ts'

/** More than this is not carried to the next boundary. */
const maxCarried = 300

/** Runs a run's open tasks until it ends or pauses. */
export async function drive(context: RunContext): Promise<RunOutcome> {
  context.journal.startRenewing()
  const stopWallTime = startWallTime(context)
  try {
    for (;;) {
      if (context.stop.aborted || context.state.mustStop()) {
        if (await beginCompensation(context)) continue
        return await end(context)
      }
      if (context.carry.length > maxCarried) await commit(context, [])
      if (await runBatch(context)) continue
      context.state.sweep()
      if (context.state.open.length === 0) {
        if (await beginCompensation(context)) continue
        return await end(context)
      }
      const pause = await pauseRun(context)
      if (pause !== null) return await pausedOutcome(context, pause)
    }
  } catch (error) {
    if (error instanceof LedgerError) return persistenceOutcome(context, error)
    throw error
  } finally {
    stopWallTime()
    context.journal.stopRenewing()
  }
}

/** Ends the run. The ledger cancels what is still open, except under an uncertain end, after which the run may go on. */
async function end(context: RunContext): Promise<RunOutcome> {
  const { state } = context
  state.sweep()
  const isUncertain = state.end() === 'uncertain'
  // The ledger cancels the same with the run's end.
  if (!isUncertain) await cancelOpen(context, context.stop.aborted ? 'the run was cancelled' : 'the run ended before')
  let to = state.end()
  let outputs: Json = null
  if (to === 'succeeded') {
    const scope = scopeOfOutputs(context.plan, { memory: state.memory, tasks: state.outputs })
    const resolved = resolveValue(context.plan.outputs, scope)
    if (resolved.ok) outputs = context.host.secrets.redactor.json(resolved.value)
    else {
      to = 'failed'
      context.messages.push(shownMessage(context, `spec.outputs (invalid_template): ${resolved.message}`))
    }
  }
  const payload = to === 'succeeded' ? await context.journal.payload(outputs) : null
  const seen = [...context.unrecorded.keys()]
  await commit(context, [{ type: 'run.finish', to, outputs: payload }])
  if (to !== 'succeeded' && to !== 'uncertain') context.messages.push(...compensationMessages(context))
  if (to === 'uncertain') context.messages.push(...(await uncertainMessages(context, seen)))
  return endedOutcome(context, to, outputs)
}

async function uncertainMessages({ ports, run }: RunContext, seen: string[]): Promise<string[]> {
  try {
    const snapshot = await ports.ledger.snapshot(run)
    const effects = snapshot?.effects.filter(({ state }) => state === 'uncertain') ?? []
    return effects.map(({ effect }) => reconcileCommand(effect))
  } catch {
    return seen.map(reconcileCommand)
  }
}

async function pausedOutcome(context: RunContext, pause: string): Promise<RunOutcome> {
  const { ports, run, journal, stop } = context
  const snapshot = await patiently(ports.timings ?? defaultTimings, stop, () => ports.ledger.snapshot(run))
  return {
    run,
    state: 'paused',
    exitCode: exitCodes.paused,
    outputs: null,
    pause: snapshot?.pauses.find(record => record.pause === pause) ?? null,
    messages: context.messages,
    head: journal.head,
  }
}
