import type { LedgerError, RunSnapshot } from '../ledger/port.ts'
import { canonical } from '../policy/canonical.ts'
import { exitCodes, type RunState } from '../policy/states.ts'
import type { RunContext } from './context.ts'
import type { RunOutcome } from './run.ts'

/** What to type for an effect of which it is not known whether it happened. */
export function reconcileCommand(effect: string): string {
  return `agentctl effects reconcile ${effect} --status applied|not-applied|compensated --reason TEXT --evidence-file FILE`
}

/** The outcome that a run's record tells, without anything having run. */
export function recordedOutcome(snapshot: RunSnapshot, messages: string[] = []): RunOutcome {
  const { record } = snapshot
  return {
    run: record.run,
    state: record.state,
    exitCode: exitCodes[record.state],
    outputs: snapshot.outputs,
    pause: snapshot.pauses.find(({ pause }) => pause === record.pause) ?? null,
    messages: [...messages, ...recordedMessages(snapshot)],
    head: snapshot.head,
  }
}

function recordedMessages({ tasks, effects }: RunSnapshot): string[] {
  const ended = tasks.flatMap(({ task, state, error }) =>
    error === null || state === 'cancelled' ? [] : [`task ${task} ${state} (${error.code}): ${error.message}`],
  )
  const unknown = effects.filter(({ state }) => state === 'uncertain').map(({ effect }) => reconcileCommand(effect))
  return [...ended, ...unknown]
}

/** A refusal before anything ran: the record stays as it is. */
export function refusedOutcome(snapshot: RunSnapshot, exitCode: number, message: string): RunOutcome {
  const { record } = snapshot
  return {
    run: record.run,
    state: record.state,
    exitCode,
    outputs: null,
    pause: null,
    messages: [message],
    head: snapshot.head,
  }
}

/** A run that ended now. A run that was told to stop exits as cancelled, also where what it had started is uncertain. */
export function endedOutcome(context: RunContext, state: RunState, outputs: RunOutcome['outputs']): RunOutcome {
  const told = context.stop.aborted && (state === 'cancelled' || state === 'uncertain')
  return {
    run: context.run,
    state,
    exitCode: told ? exitCodes.cancelled : exitCodes[state],
    outputs,
    pause: null,
    messages: context.messages,
    head: context.journal.head,
  }
}

/**
 * The ledger could not be written: what was seen and is not recorded is told in full, each result in the form that
 * `effects reconcile --result-file` takes.
 */
export function persistenceOutcome(context: RunContext, error: LedgerError): RunOutcome {
  const messages = [...context.messages, `the ledger refused or could not be reached (${error.code}): ${error.message}`]
  for (const [effect, { task, to, result }] of context.unrecorded) {
    const status = to === 'succeeded' ? 'applied' : to === 'cancelled' ? 'not-applied' : 'applied|not-applied'
    messages.push(
      `task ${task}: effect ${effect} ${to} and this is not recorded; save the next line as result.json and run ` +
        `\`agentctl effects reconcile ${effect} --status ${status} --reason TEXT --evidence-file FILE --result-file result.json\``,
      canonical(result),
    )
  }
  return {
    run: context.run,
    state: 'running',
    exitCode: exitCodes.running,
    outputs: null,
    pause: null,
    messages,
    head: context.journal.head,
  }
}
