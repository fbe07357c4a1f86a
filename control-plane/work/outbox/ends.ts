import type { OutboxRow } from '../../../ledger/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { closeIssueRow, commitStatusRow, statusRow } from '../rows.ts'
import { done, type Outcome } from './outcome.ts'

/** What people should see once a pause is resolved or a run has ended: each a row of its own, wanted once. */
export function announce({ store }: RepositoryContext, row: OutboxRow): void {
  if (row.run === null) return
  for (const pause of store.pauses(row.run)) {
    if (pause.state === 'open') continue
    const of = { run: row.run, pause: pause.pause }
    if (pause.issue === null) continue
    store.addOutbox(closeIssueRow(of, pause.issue.number))
    store.addOutbox(statusRow(of, row.id))
  }
  const last = store.pauses(row.run).at(-1)
  if (last !== undefined) store.addOutbox(commitStatusRow({ run: row.run, pause: last.pause }, row.id))
}

/** A run ended: nothing is dispatched, the rest is announced. */
export async function runEnded(): Promise<Outcome> {
  return done()
}
