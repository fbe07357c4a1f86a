import type { CommandOf } from '../commands.ts'
import { Cells } from '../sql/cells.ts'
import { type RunChange, refused } from './change.ts'
import { itemsOf, pauseExpiry } from './resolution.ts'

/** Makes an issue the one of its pause. The same issue again changes nothing; another one is refused. */
export function registerIssue(change: RunChange, command: CommandOf<'pause.register'>): void {
  const { pause, issueNumber, issueId, issueUrl, bodyDigest } = command
  pauseExpiry(change, pause)
  const registered = issueOf(change, pause)
  if (registered === issueNumber) return
  if (registered !== null) {
    throw refused(
      'conflict',
      `Pause ${pause} has issue #${registered} registered; #${issueNumber} does not count. Close it with a link.`,
    )
  }
  if (!itemsOf(change, pause).some(item => item.isOpen)) {
    throw refused('conflict', `Pause ${pause} is resolved; issue #${issueNumber} has nothing left to ask. Close it.`)
  }
  if (change.sql.all('SELECT 1 FROM pauses WHERE issue_number = ?', issueNumber).length > 0) {
    throw refused('conflict', `Issue #${issueNumber} is registered for another pause; open a new one.`)
  }
  change.sql.run(
    'UPDATE pauses SET issue_number = ?, issue_id = ?, issue_url = ?, body_digest = ? WHERE pause = ?',
    issueNumber,
    issueId,
    issueUrl,
    bodyDigest,
    pause,
  )
  change.append('pause.registered', `pause/${pause}`, { issueNumber, issueId, bodyDigest })
}

/** Takes its force from a registered issue, for good; the pause stays. */
export function voidIssue(change: RunChange, command: CommandOf<'issue.void'>): void {
  const { pause, issueNumber, cause } = command
  pauseExpiry(change, pause)
  if (issueOf(change, pause) !== issueNumber) return
  change.sql.run(
    'UPDATE pauses SET issue_number = NULL, issue_id = NULL, issue_url = NULL, body_digest = NULL WHERE pause = ?',
    pause,
  )
  change.append('issue.voided', `pause/${pause}`, { issueNumber, cause })
}

function issueOf(change: RunChange, pause: string): number | null {
  const [row] = change.sql.all('SELECT issue_number FROM pauses WHERE pause = ?', pause)
  return row === undefined ? null : new Cells(row).intOrNull()
}
