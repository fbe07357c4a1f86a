import { z } from 'zod'
import type { Handler } from '../command.ts'
import { CliError, exits } from '../failure.ts'
import { localUser, recordOf, withLedger } from '../ledger.ts'
import { personOf, reasonOf } from '../person.ts'

const optionsSchema = z.object({ reason: z.string() })

/** `cancel RUN`: ends a paused run at once; a running one is told, and stops at its next boundary. */
export const cancel: Handler = async (context, [run = ''], options) => {
  const reason = reasonOf(optionsSchema.parse(options).reason)
  return withLedger(context, ({ store }) => {
    const { state: before } = recordOf(store, run)
    if (before !== 'running' && before !== 'paused' && before !== 'uncertain')
      throw new CliError('already_ended', `run ${run} is ${before} already`, { help: 'there is nothing to cancel' })
    const person = personOf(context, undefined)
    store.control(
      { run, commands: [{ id: context.ids.uuid(), type: 'run.cancel', person, reason, via: 'cli' }] },
      localUser(context),
    )
    const { state } = recordOf(store, run)
    const said = state === 'running' ? 'was told to stop' : `is ${state}`
    return {
      kind: 'Run',
      exitCode: exits.done,
      data: { runId: run, state },
      findings: [],
      lines: [`run ${run} ${said}`],
    }
  })
}
