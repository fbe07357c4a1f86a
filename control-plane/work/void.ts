import type { PauseRecord } from '../../ledger/port.ts'
import type { RepositoryContext } from '../repository/context.ts'
import { replacementRow, statusRow } from './rows.ts'

/**
 * An issue that no longer shows what was rendered is void for good: nothing said there counts any more, and a pause that
 * still waits gets a new one. Says nothing where that issue is not the registered one.
 */
export function voidIssue(context: RepositoryContext, pause: PauseRecord, issue: number, cause: string): void {
  const current = context.store.pause(pause.pause)
  if (current?.issue?.number !== issue) return
  const of = { run: pause.run, pause: pause.pause }
  const command = { id: `void-${issue}`, type: 'issue.void', pause: pause.pause, issueNumber: issue, cause } as const
  const followUps = current.state === 'open' ? [replacementRow(of, issue, cause)] : [statusRow(of, `void-${issue}`)]
  context.store.control({ run: pause.run, commands: [command] }, 'system', followUps)
}
