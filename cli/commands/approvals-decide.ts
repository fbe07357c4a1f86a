import type { Json } from '../../policy/json.ts'
import { verdict } from '../approval-lines.ts'
import type { Handler } from '../command.ts'
import { exits } from '../failure.ts'
import { withLedger } from '../ledger.ts'
import { resumeCommand } from '../next-command.ts'
import { personOf, personOptionsSchema, reasonOf } from '../person.ts'
import { castVote, checkMayDecide, openApproval } from '../vote.ts'

/** `approvals approve|reject ID`: the local user's word on one approval. */
export function deciding(vote: 'approve' | 'reject'): Handler {
  return async (context, [id = ''], options) => {
    const { reason, actor } = personOptionsSchema.parse(options)
    const word = { vote, person: personOf(context, actor), reason: reasonOf(reason) }
    return withLedger(context, ledger => {
      const open = openApproval(context, ledger, id)
      checkMayDecide(context, ledger, open)
      const approval = castVote(context, ledger, open, word)
      const { run, resolution, needed } = approval
      const state = ledger.store.record(run)?.state ?? null
      const said = resolution === null ? `recorded; ${needed} people must approve` : verdict(resolution)
      return {
        kind: 'Approval',
        exitCode: exits.done,
        data: { approval: approval as unknown as Json, runId: run, state },
        findings: [],
        lines: [
          [['cyan', id], ` ${said}`],
          ...(state === 'paused' ? [[`Go on with: `, ['bold', resumeCommand(context, run)]] as const] : []),
        ],
      }
    })
  }
}
