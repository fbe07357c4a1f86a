import type { Delivery, LedgerStore } from '../../../ledger/index.ts'
import type { PauseRecord } from '../../../ledger/port.ts'
import { parseComment } from '../../../policy/approval/index.ts'
import type { EventPayload } from '../../webhooks/events.ts'
import type { CommentPayload } from './comment.ts'

type PauseOf = (issue: number) => PauseRecord | null

/**
 * Most of what a repository's webhook brings is about other issues, or talk: it needs nothing of GitHub and changes
 * nothing. Such deliveries are found by reading and marked with their outcome, so that keeping them is all their work.
 */
export function markIdle(store: LedgerStore, deliveries: readonly Delivery[]): Delivery[] {
  const pauses = new Map<number, PauseRecord | null>()
  const pauseOf: PauseOf = issue => {
    const pause = pauses.get(issue) ?? store.pauseByIssue(issue)
    pauses.set(issue, pause)
    return pause
  }
  return deliveries.map(delivery => {
    const outcome = idleOutcome(delivery, pauseOf)
    return outcome === null ? delivery : { ...delivery, outcome }
  })
}

/** What such a delivery comes to; null for one that takes work. */
function idleOutcome({ event, action, ...rest }: Delivery, pauseOf: PauseOf): string | null {
  // The payload was made by the event's schema when it was delivered.
  const payload: unknown = rest.payload
  switch (event) {
    case 'issue_comment': {
      const { issue, comment } = payload as CommentPayload
      if (issue.marker === null && pauseOf(issue.number) === null) return 'not_our_issue'
      const isTalk = action === 'created' && comment.body !== null && parseComment(comment.body) === null
      return isTalk ? 'no_command' : null
    }
    case 'issues': {
      const { issue } = payload as EventPayload<'issues'>
      return issue.marker === null && pauseOf(issue.number) === null ? 'not_our_issue' : null
    }
    case 'workflow_run':
      return null
    default:
      return 'noted'
  }
}
