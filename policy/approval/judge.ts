import { bindCommand, type DecidingCommand } from './bind-command.ts'
import { type CommentCommand, parseComment } from './comment.ts'
import { eligible, holds } from './eligible.ts'
import type { DecisionFacts } from './facts.ts'
import { renderReply } from './reply.ts'
import { neededApprovals } from './requesters.ts'
import type { IgnoreCode, RefusalCode, RetryCode, Verdict } from './verdict.ts'

/**
 * What one comment comes to (04, Deciding): a pure function of the facts, in the order of the rules. It is asked again
 * right before anything is recorded, since pause, body and time may have changed while the facts were gathered.
 */
export function judge(facts: DecisionFacts): Verdict {
  const command = parseComment(facts.comment.body)
  return (
    judgeComment(facts, command) ??
    (command === null
      ? ignore('no_command')
      : command.verb === 'status'
        ? judgeStatus(facts)
        : command.verb === 'cancel'
          ? judgeCancel(facts, command.reason)
          : judgeDecision(facts, command))
  )
}

/** Where the comment comes from; null where nothing speaks against it. */
function judgeComment(facts: DecisionFacts, command: CommentCommand | null): Verdict | null {
  const { author, sender, event, comment, issue } = facts
  if (event === 'deleted') return ignore('comment_deleted')
  if (author.id === facts.ownAccountId) return ignore('own_comment')
  if (command === null) return ignore('no_command')
  if (facts.commentSeen && event !== 'edited') return ignore('comment_seen')
  if (event === 'edited') return refuse(facts, 'comment_edited')
  if (event === 'created' && sender?.id !== author.id)
    return refuse(facts, 'sender_not_author', sender?.login ?? 'nobody')
  if (event === 'reconciled' && comment.lastEditedAt === undefined) {
    return retry('edit_history_unavailable', 'whether the comment was edited could not be read')
  }
  if (event === 'reconciled' && comment.lastEditedAt !== null) return refuse(facts, 'comment_edited')
  if (event !== 'created' && event !== 'reconciled') return refuse(facts, 'comment_edited')
  if (author.type !== 'User') return refuse(facts, 'not_a_person')
  if (facts.performedViaApp) return refuse(facts, 'via_app')
  if (issue.isPullRequest) return refuse(facts, 'pull_request')
  if (facts.pause.issue?.number !== issue.number) return refuse(facts, 'not_registered_issue')
  return null
}

function judgeStatus(facts: DecisionFacts): Verdict {
  if (!facts.permission.ok) return retry('permission_unavailable', facts.permission.message)
  if (!holds(facts.permission, 'triage')) return refuse(facts, 'status_needs_triage')
  return { kind: 'status', person: personOf(facts) }
}

function judgeCancel(facts: DecisionFacts, reason: string): Verdict {
  const over = judgePause(facts)
  if (over !== null) return over
  if (!facts.permission.ok) return retry('permission_unavailable', facts.permission.message)
  if (!holds(facts.permission, 'write')) return refuse(facts, 'cancel_needs_write')
  return { kind: 'cancel', person: personOf(facts), reason }
}

function judgeDecision(facts: DecisionFacts, command: DecidingCommand): Verdict {
  return judgePause(facts) ?? judgeIssue(facts) ?? judgePerson(facts) ?? judgeItems(facts, command)
}

/** Is there still something to decide? Told before anything else, since it holds for everybody. */
function judgePause(facts: DecisionFacts): Verdict | null {
  const { pause, now } = facts
  const isOver = pause.state !== 'open' || pause.items.every(item => item.resolution !== null)
  if (isOver && pause.items.some(item => item.resolution?.outcome === 'expired')) return refuse(facts, 'pause_expired')
  if (isOver && facts.isCurrentPause) return refuse(facts, 'pause_resolved')
  if (!facts.isCurrentPause) return refuse(facts, 'pause_not_current')
  // Written so that an unreadable time counts as over.
  if (!(Date.parse(now) < Date.parse(pause.expiresAt))) return refuse(facts, 'pause_expired')
  return null
}

/** Does the issue still show what was rendered? */
function judgeIssue(facts: DecisionFacts): Verdict | null {
  const { issue, pause } = facts
  if (issue.bodyDigest === null || issue.everEdited === null) {
    return retry('issue_unavailable', 'the issue and its edit history could not be read')
  }
  if (issue.everEdited || issue.bodyDigest !== pause.issue?.bodyDigest) return refuse(facts, 'issue_edited')
  return issue.state === 'open' ? null : refuse(facts, 'issue_closed')
}

function judgePerson(facts: DecisionFacts): Verdict | null {
  const eligibility = eligible({ ...facts, person: facts.author })
  if (!eligibility.ok) {
    return eligibility.retry
      ? retry(eligibility.code, eligibility.reason)
      : refuse(facts, eligibility.code, eligibility.reason)
  }
  const isRequester = facts.requesters.some(requester => requester.id === facts.author.id)
  return facts.settings.preventSelfApproval && isRequester ? refuse(facts, 'requester') : null
}

function judgeItems(facts: DecisionFacts, command: DecidingCommand): Verdict {
  const { pause, settings } = facts
  const bound = bindCommand(command, pause, settings.plainWords)
  if (!bound.ok) return refuse(facts, bound.code, bound.subject)
  const eligibility = eligible({ ...facts, person: facts.author })
  const recorded = pause.items.reduce((most, item) => Math.max(most, item.needed), 1)
  return {
    kind: 'vote',
    vote: bound.vote,
    items: bound.items,
    reason: bound.reason,
    person: personOf(facts),
    needed: Math.max(recorded, neededApprovals(settings, facts.requesters)),
    bodyDigest: pause.issue?.bodyDigest ?? '',
    binds: eligibility.ok ? eligibility.binds : [],
  }
}

function personOf({ author }: DecisionFacts) {
  return { id: author.id, login: author.login }
}

function ignore(code: IgnoreCode): Verdict {
  return { kind: 'ignore', code }
}

function retry(code: RetryCode, message: string): Verdict {
  return { kind: 'retry', code, message }
}

/** People without triage permission, and whoever has none that we know of, get a reaction and no reply. */
function refuse(facts: DecisionFacts, code: RefusalCode, subject = ''): Verdict {
  const reply = renderReply(code, {
    comment: facts.comment.id,
    login: facts.author.login,
    pause: facts.pause,
    pageUrl: facts.pageUrl,
    subject,
    newerPlanDigest: facts.newerPlanDigest,
  })
  return {
    kind: 'refuse',
    code,
    reply,
    reactionOnly: !holds(facts.permission, 'triage'),
    voidIssue: code === 'issue_edited',
  }
}
