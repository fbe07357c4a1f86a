import { plainWords } from './comment.ts'
import { code, count, minuteOf } from './markdown.ts'
import { marker } from './markers.ts'
import type { RefusalCode } from './verdict.ts'
import type { PauseView } from './view.ts'

export interface ReplyDetails {
  /** The comment that is answered: the reply carries its id, so that it is written once. */
  comment: number
  login: string
  pause: PauseView
  pageUrl: string
  /** What the refusal is about: an item as typed, a reason of eligibility; shown as code. */
  subject: string
  /** Where a newer plan exists, its digest. */
  newerPlanDigest: string | null
}

/** The reply to a comment that does not count: the rule, the subject, and what to do instead. */
export function renderReply(refusal: RefusalCode, details: ReplyDetails): string {
  const text = texts[refusal](details)
  return `${marker('reply', details.comment)}\nThis comment by ${code(details.login, 100)} does not count: ${text}`
}

const texts: { [Code in RefusalCode]: (details: ReplyDetails) => string } = {
  comment_edited: () =>
    'it was edited, and only untouched text shows who decided what. What it decided before the edit stands; for anything else, write a new comment.',
  sender_not_author: ({ subject }) =>
    `it was sent by ${code(subject)} in the name of another account. Only what people write themselves counts.`,
  not_a_person: () => 'it was written by a bot. A person must decide.',
  via_app: () => 'it was written through an app. Write it on GitHub yourself.',
  pull_request: details => `decisions are made on ${issueOf(details)}, not on a pull request. Comment there.`,
  not_registered_issue: details => `this issue is not the one that was registered. Decide on ${issueOf(details)}.`,
  pause_not_current: details => notCurrent(details),
  pause_expired: ({ pause }) =>
    `the time to decide ended on ${minuteOf(pause.expiresAt)}, and what was open then is recorded as expired. Run the workflow again to be asked anew.`,
  pause_resolved: details => `everything has been decided already: ${outcomes(details.pause)}.`,
  issue_closed: ({ pageUrl }) =>
    `this issue is closed. Decide on [the approval page](${pageUrl}), or reopen the issue first.`,
  issue_edited: () =>
    'the text of this issue was changed after it was opened, so it no longer shows for certain what would be approved. A new issue is opened; decide there.',
  permission_too_low: ({ subject }) =>
    `${subject}. Ask somebody who has it; the issue's first lines say who may decide.`,
  not_an_approver: ({ subject }) => `${subject}. Ask somebody who is; the issue's first lines name them.`,
  nobody_eligible: ({ subject }) =>
    `${subject}. Let the floor and the step's approvers overlap, then run the workflow again.`,
  login_id_mismatch: ({ subject }) => `${code(subject)}. Have the list corrected with the account's id.`,
  requester: () =>
    'whoever caused the run may not decide about it (preventSelfApproval). Somebody else must; `/cancel` stops the run.',
  plain_words_several_items: ({ pause }) =>
    `a single word counts only where one effect waits, and here ${pause.items.length} do. ${howToName(pause)}`,
  plain_words_not_allowed: () =>
    `the installed floor does not accept single words such as ${plainWords.approve
      .slice(1, 3)
      .map(word => `\`${word}\``)
      .join(' or ')}. Type \`/approve\` or \`/reject\`.`,
  items_needed: ({ pause }) => `${count(pause.items.length, 'effect')} wait, and it names none. ${howToName(pause)}`,
  item_unknown: ({ subject, pause }) => `there is no item ${code(subject)}. ${howToName(pause)}`,
  item_decided: ({ subject, pause }) => `item ${code(subject)} has been decided already: ${outcomes(pause)}.`,
  all_with_items: ({ subject }) =>
    `\`all\` stands alone, and it also names ${code(subject)}. Type \`/approve all\`, or name the items only.`,
  cancel_needs_write: () => 'stopping a run needs write permission. Ask somebody who has it.',
  status_needs_triage: () => 'the status is shown to people with triage permission.',
}

function issueOf({ pause, pageUrl }: ReplyDetails): string {
  return pause.issue === null ? `[the approval page](${pageUrl})` : `[the registered issue](${pause.issue.url})`
}

function notCurrent({ pause, newerPlanDigest, pageUrl }: ReplyDetails): string {
  const asked = pause.items[0]?.planDigest ?? ''
  const newer = newerPlanDigest === null ? '' : `; the run now follows plan ${code(newerPlanDigest)}`
  return `this issue asks about plan ${code(asked)} with digest ${code(pause.shortDigest)}, and its run no longer waits for it${newer}. Nothing carries over. See [the approval page](${pageUrl}) for what is open.`
}

function howToName(pause: PauseView): string {
  const open = pause.items.filter(item => item.resolution === null)
  const items = open.slice(0, 20).map(item => `- ${item.number}: ${code(item.task, 100)}`)
  const more = open.length > 20 ? [`- and ${open.length - 20} more, in the issue`] : []
  return [`Name items by number or task id, or type \`/approve all\`. Open are:\n`, ...items, ...more].join('\n')
}

function outcomes(pause: PauseView): string {
  const decided = pause.items.filter(item => item.resolution !== null).slice(0, 20)
  return decided.map(item => `${item.number} ${item.resolution?.outcome ?? 'open'}`).join(', ') || 'nothing is open'
}
