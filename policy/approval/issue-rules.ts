import { plainWords } from './comment.ts'
import { code, codeList, count, minuteOf } from './markdown.ts'
import type { ApprovalSettings } from './record.ts'
import { neededApprovals } from './requesters.ts'
import type { PauseView, RunView } from './view.ts'

/** How to decide, in words that `parseComment` accepts as they stand. */
export function decidingSection(run: RunView, pause: PauseView): string {
  const lines = pause.items.length === 1 ? oneItem(run.settings) : severalItems()
  return [
    '## How to decide',
    '',
    'Comment on this issue. The command stands alone on the first line; words behind it are kept as your reason.',
    '',
    ...lines,
    '- `/status` shows how things stand; `/cancel` stops the run',
    '',
    'Reactions do not count, nor do edited comments: write a new one instead. Editing this text makes the issue void, and a new one is opened.',
  ].join('\n')
}

function oneItem(settings: ApprovalSettings): string[] {
  const words = [...plainWords.approve.slice(0, 3), ...plainWords.reject.slice(0, 2)].map(word => `\`${word}\``)
  const plain = `- a single word works too: ${words.join(', ')}`
  return ['- `/approve` approves it', '- `/reject` rejects it, finally', ...(settings.plainWords ? [plain] : [])]
}

function severalItems(): string[] {
  return [
    '- `/approve all` approves everything below',
    '- `/approve 1` approves single items, by number or full task id, several with spaces between',
    '- `/reject` rejects everything, `/reject 1` single items, finally',
  ]
}

/** Who may decide. */
export function whoLine(run: RunView): string {
  const { settings } = run
  const holders = `people with ${code(settings.permission)} permission or more in this repository`
  const causes = run.requesters.filter(requester => requester.role !== 'bot').map(requester => requester.login)
  const self = settings.preventSelfApproval
    ? ` Those who caused this run do not count${causes.length === 0 ? '' : `: ${codeList(causes)}`}.`
    : ''
  return `- **Who may decide:** ${holders}${listed(settings)}.${self}`
}

function listed({ users, teams }: ApprovalSettings): string {
  if (users === null && teams === null) return ''
  const people = (users ?? []).map(user => user.login)
  const either = [
    ...(people.length === 0 ? [] : [`are one of ${codeList(people)}`]),
    ...((teams ?? []).length === 0 ? [] : [`are an active member of ${codeList(teams ?? [])}`]),
  ]
  return either.length === 0 ? ' who are on the list of approvers, which is empty' : ` who ${either.join(' or ')}`
}

/** How many approvals are needed. */
export function howManyLine(run: RunView, pause: PauseView): string {
  const recorded = pause.items.reduce((most, item) => Math.max(most, item.needed), 1)
  const needed = Math.max(recorded, neededApprovals(run.settings, run.requesters))
  const people = needed === 1 ? 'one approval' : `${count(needed, 'approval')} by different people`
  return `- **How many:** ${people} for each effect; one rejection is final`
}

/** Until when. */
export function untilLine(pause: PauseView): string {
  return `- **Until:** ${minuteOf(pause.expiresAt)}; what is undecided then expires, and is not done`
}
