import { code, codeList, count, minuteOf } from './markdown.ts'
import { marker } from './markers.ts'
import type { ApprovalRecord } from './record.ts'
import { tally } from './tally.ts'
import type { EarlierVote, PauseView } from './view.ts'

export interface StatusInput {
  pause: PauseView
  votes: readonly EarlierVote[]
  pageUrl: string
  /** The workflow run on the web host. */
  runUrl: string | null
  /** Lines to add: which job a re-run waits for, a newer run, what to do by hand. Markdown of ours. */
  notes: readonly string[]
}

/** The one status comment of a pause, edited in place. */
export function renderStatusComment(input: StatusInput): string {
  const { pause, votes, notes, pageUrl, runUrl } = input
  const shown = pause.items.slice(0, 100).map(item => `- ${itemLine(item, votes)}`)
  const more = pause.items.length - shown.length
  return [
    marker('status', pause.pause),
    `**${headline(pause)}**`,
    '',
    ...shown,
    ...(more > 0 ? [`- and ${more} more on the page`] : []),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    '',
    `[Approval page](${pageUrl})${runUrl === null ? '' : `, [workflow run](${runUrl})`}`,
  ].join('\n')
}

/** At most 140 characters for a commit status. */
export function statusDescription(pause: PauseView): string {
  return headline(pause).slice(0, 140)
}

/** State of a commit status: an expiry, a rejection and a cancellation are no success. */
export function commitState(pause: PauseView): 'pending' | 'success' | 'failure' {
  if (pause.items.some(item => item.resolution !== null && item.resolution.outcome !== 'approved')) return 'failure'
  return pause.items.some(item => item.resolution === null) ? 'pending' : 'success'
}

function headline(pause: PauseView): string {
  const open = pause.items.filter(item => item.resolution === null).length
  if (open > 0 && pause.state === 'open') {
    return `${count(open, 'effect')} of ${pause.items.length} ${open === 1 ? 'waits' : 'wait'} for a decision until ${minuteOf(pause.expiresAt)}`
  }
  const outcomes = ['approved', 'rejected', 'expired', 'cancelled'] as const
  const counts = outcomes.map(
    outcome => [outcome, pause.items.filter(item => item.resolution?.outcome === outcome).length] as const,
  )
  return `Decided: ${counts
    .filter(([, number]) => number > 0)
    .map(([outcome, number]) => `${number} ${outcome}`)
    .join(', ')}`
}

function itemLine(item: ApprovalRecord, votes: readonly EarlierVote[]): string {
  const name = `${item.number}. ${code(item.task, 100)}`
  const { resolution } = item
  if (resolution === null) {
    const { approvals } = tally(votes, item.id)
    const by = approvals.length === 0 ? '' : `, by ${codeList(approvals.map(person => person.login))}`
    return `${name}: open, ${approvals.length} of ${count(item.needed, 'approval')}${by}`
  }
  const by = resolution.by.length === 0 ? '' : ` by ${codeList(resolution.by.map(person => person.login))}`
  const reason = resolution.reason === '' ? '' : `: ${code(resolution.reason)}`
  return `${name}: ${resolution.outcome}${by} on ${minuteOf(resolution.at)}${reason}`
}
