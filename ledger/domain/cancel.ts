import type { CommandOf } from '../commands.ts'
import { type RunChange, refused } from './change.ts'
import { type Answer, endByTasks, itemsOf, resolveItem } from './resolution.ts'

/** Ends a paused run at once; a running one is told in its next receipt and ends itself. */
export function cancelRun(change: RunChange, command: CommandOf<'run.cancel'>): void {
  const { run, row } = change
  const { person, reason, via } = command
  if (row.state === 'uncertain') {
    throw refused('conflict', `Run ${run} is uncertain. Reconcile its uncertain effects; then it can be cancelled.`)
  }
  if (row.state !== 'running' && row.state !== 'paused') {
    throw refused('conflict', `Run ${run} is ${row.state} already; there is nothing to cancel.`)
  }
  if (!row.cancelRequested) {
    change.sql.run('UPDATE runs SET cancel_requested = 1 WHERE run = ?', run)
    change.row = { ...change.row, cancelRequested: true }
    change.append('run.cancel_requested', `run/${run}`, { person, reason, via })
  }
  if (row.state !== 'paused') return
  const { pause } = row
  const open = pause === null ? [] : itemsOf(change, pause).filter(item => item.isOpen)
  for (const item of open) {
    const answer: Answer = { outcome: 'cancelled', by: [person], reason, via: via === 'issue_closed' ? 'system' : via }
    resolveItem(change, item, answer)
  }
  if (pause !== null && open.length > 0) change.append('pause.resolved', `pause/${pause}`, { follows: 'run_ended' })
  endByTasks(change, 'the run was cancelled')
}
