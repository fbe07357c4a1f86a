import type { EmbeddedLedger } from '../ledger/index.ts'
import type { ApprovalRecord, Person } from '../policy/approval/record.ts'
import { verdict } from './approval-lines.ts'
import type { Context } from './command.ts'
import { CliError, exits } from './failure.ts'
import { localUser, recordOf, refuseForeign } from './ledger.ts'
import { resumeCommand } from './next-command.ts'

/** An approval that is still open. Throws CliError: exit 2 where there is none of that id, or it is resolved. */
export function openApproval(context: Context, { store }: EmbeddedLedger, id: string): ApprovalRecord {
  const record = store.approval(id)
  if (record === null)
    throw new CliError('approval_not_found', `there is no approval ${id} in this ledger`, {
      help: 'see agentctl approvals list, and check the ledger file: --db FILE',
    })
  if (record.resolution !== null)
    throw new CliError('already_resolved', `approval ${id} was ${verdict(record.resolution)}`, {
      help: `a resolution is final; go on with ${resumeCommand(context, record.run)}`,
    })
  return record
}

/**
 * Whether the local user may decide at all: not where the run's settings want people that GitHub vouches for, nor, where
 * requesters may not decide, who started the run. Throws CliError, exit 3.
 */
export function checkMayDecide(context: Context, { store }: EmbeddedLedger, { run }: ApprovalRecord): void {
  const record = recordOf(store, run)
  refuseForeign(record, 'people decide it on GitHub')
  const { users, teams, preventSelfApproval } = record.settings
  const refused = (message: string, help: string) =>
    new CliError('not_eligible', message, { exitCode: exits.denied, help })
  if (users !== null || teams !== null)
    throw refused(
      'the floor names the people who may approve by their GitHub accounts, which a terminal cannot show',
      'run it as a GitHub job with a control plane',
    )
  const [created] = store.events({ chain: `run/${run}`, limit: 1 }).items
  if (preventSelfApproval && created?.actor === localUser(context))
    throw refused(
      `the floor keeps who started a run from approving it, and ${localUser(context)} started run ${run}`,
      'ask another user of this machine',
    )
}

/** Records one person's word on one approval and answers the approval as it then stands. Throws LedgerError. */
export function castVote(
  context: Context,
  { store }: EmbeddedLedger,
  approval: ApprovalRecord,
  { vote, person, reason }: { vote: 'approve' | 'reject'; person: Person; reason: string },
): ApprovalRecord {
  const { run, pause, id, needed } = approval
  store.control(
    {
      run,
      commands: [
        {
          id: context.ids.uuid(),
          type: 'approval.vote',
          pause,
          items: [id],
          vote,
          person,
          reason,
          via: 'cli',
          comment: null,
          bodyDigest: null,
          needed,
        },
      ],
    },
    localUser(context),
  )
  return store.approval(id) ?? approval
}
