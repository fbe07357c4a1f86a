import type { Json } from '../../policy/json.ts'
import { approvalLines } from '../approval-lines.ts'
import type { Handler } from '../command.ts'
import { exits } from '../failure.ts'
import { recordOf, withLedger } from '../ledger.ts'

/** `approvals list [RUN]`: every approval of a run, resolved ones too; without RUN, all that are open. */
export const approvalsList: Handler = async (context, [run]) =>
  withLedger(context, ({ store }) => {
    const pauses = run === undefined ? store.openPauses() : store.pauses(recordOf(store, run).run)
    const approvals = pauses.flatMap(pause => pause.items).filter(item => run !== undefined || item.resolution === null)
    const none = run === undefined ? 'nothing waits for a person' : `run ${run} asked nobody`
    return {
      kind: 'ApprovalList',
      exitCode: exits.done,
      data: { approvals: approvals as unknown as Json },
      findings: [],
      lines: approvals.length === 0 ? [none] : approvals.flatMap(approvalLines),
    }
  })
