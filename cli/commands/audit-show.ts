import { z } from 'zod'
import type { Json } from '../../policy/json.ts'
import type { Handler } from '../command.ts'
import { CliError, exits } from '../failure.ts'
import { recordOf, withLedger } from '../ledger.ts'

const optionsSchema = z.object({
  after: z.coerce.number().int().min(0),
  limit: z.coerce.number().int().min(1).max(1000),
})

/** `audit show RUN`: a run's events, oldest first. */
export const auditShow: Handler = async (context, [run = ''], given) => {
  const options = optionsSchema.safeParse(given)
  if (!options.success)
    throw new CliError('usage', '--after takes a number from 0, --limit one from 1 to 1000', { help: 'see --help' })
  return withLedger(context, ({ store }) => {
    recordOf(store, run)
    const page = store.events({ chain: `run/${run}`, ...options.data })
    return {
      kind: 'AuditEvents',
      exitCode: exits.done,
      data: { runId: run, events: page.items as unknown as Json, next: page.next, head: store.head(`run/${run}`) },
      findings: [],
      lines: [
        ...page.items.map(
          ({ seq, at, actor, type, subject }) => `${String(seq).padStart(5)}  ${at}  ${actor}  ${type}  ${subject}`,
        ),
        ...(page.next === null ? [] : [`more: --after ${page.next}`]),
      ],
    }
  })
}
