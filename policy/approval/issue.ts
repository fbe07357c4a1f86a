import type { Digest } from '../canonical.ts'
import { itemSection, itemSummary } from './issue-item.ts'
import { decidingSection, howManyLine, untilLine, whoLine } from './issue-rules.ts'
import { code, codeList, count, mention, minuteOf, plainLine } from './markdown.ts'
import { bodyDigest, marker } from './markers.ts'
import type { PauseView, RunView } from './view.ts'

/** GitHub takes 65,536 characters; we stop earlier, since it counts in its own way. */
export const issueLengthMax = 60_000

export interface IssueInput {
  run: RunView
  pause: PauseView
  /** The pause on the control plane's pages, for what the issue does not show. */
  pageUrl: string
  /** The workflow run on the web host; null outside GitHub. */
  runUrl: string | null
}

export interface RenderedIssue {
  title: string
  body: string
  bodyDigest: Digest
}

/**
 * Title and body of the issue that asks for a pause's decisions: a pure function of what the ledger holds, so the same
 * bytes whenever it is asked. What does not fit is summarised with a link and says so; nothing is cut in silence.
 */
export function renderIssue(input: IssueInput): RenderedIssue {
  const { run, pause } = input
  const asked = count(pause.items.length, 'effect')
  const title = plainLine(`Approval needed: ${run.workflowName.slice(0, 120)}: ${asked} [${pause.shortDigest}]`)
  const body = fittingBody(input)
  return { title, body, bodyDigest: bodyDigest(body) }
}

/** Everything in full; then the largest items as summaries, one by one; then all of them in one line each; then the count. */
function fittingBody(input: IssueInput): string {
  const { items } = input.pause
  const isSummary = input.run.settings.issueDetail === 'summary'
  const sections = items.map(item => itemSection(item, input.pageUrl, isSummary))
  const around = compose(input, []).length
  const bySize = sections
    .map((section, index) => ({ index, length: section.length }))
    .sort((a, b) => b.length - a.length || a.index - b.index)
  let total = around + sections.reduce((sum, section) => sum + section.length + 2, 0)
  for (const { index } of bySize) {
    if (total <= issueLengthMax) break
    const item = items[index]
    const full = sections[index]
    if (item === undefined || full === undefined) continue
    const summary = itemSummary(item, input.pageUrl, full.length)
    total += summary.length - full.length
    sections[index] = summary
  }
  const body = compose(input, sections)
  if (body.length <= issueLengthMax) return body
  const lines = items.map(
    item => `${item.number}. ${code(item.task, 80)}: ${code(item.tool, 60)}, risk ${code(item.risk)}`,
  )
  const note = `The details of these ${items.length} effects do not fit here. Review each of them on [the approval page](${input.pageUrl}) before you decide.`
  const listed = compose(input, [note, lines.join('\n')])
  if (listed.length <= issueLengthMax) return listed
  return compose(input, [
    `${items.length} effects wait, too many to list here. Review each of them on [the approval page](${input.pageUrl}) before you decide.`,
  ])
}

function compose(input: IssueInput, sections: readonly string[]): string {
  const { run, pause } = input
  const parts = [
    marker('pause', pause.pause),
    `${count(pause.items.length, 'effect')} of ${code(run.workflowName, 100)} ${pause.items.length === 1 ? 'waits' : 'wait'} for a decision. Nothing below has been done, and no runner is kept waiting.`,
    notifyLine(run),
    decidingSection(run, pause),
    [whoLine(run), howManyLine(run, pause), untilLine(pause)].join('\n'),
    '## What will be done',
    ...sections,
    laterSection(pause),
    footer(input),
  ]
  return parts.filter(part => part !== '').join('\n\n')
}

function notifyLine(run: RunView): string {
  return run.settings.notify.slice(0, 50).map(mention).join(' ')
}

function laterSection(pause: PauseView): string {
  if (pause.later.length === 0) return ''
  return `## Will be asked later\n\nThese tasks ask too, once their input is known: ${codeList(pause.later, 50)}.`
}

function footer({ run, pause, pageUrl, runUrl }: IssueInput): string {
  const commit = run.commit.sha ?? run.commit.head
  const isSummary = run.settings.issueDetail === 'summary'
  return [
    '## What this is bound to',
    '',
    `- Digest of all effects: ${code(pause.shortDigest)}; plan: ${code(run.planDigest)}`,
    `- Commit: ${commit === null ? 'none' : code(commit)}${isSummary ? '' : `; document: ${code(run.document, 200)}`}`,
    `- Run: ${code(run.run)}${run.instance === null ? '' : `, job ${code(run.instance.job, 100)}`}${runUrl === null ? '' : `, [workflow run](${runUrl})`}; [approval page](${pageUrl})`,
    `- Asked: ${minuteOf(pause.createdAt)}`,
    '',
    'A decision holds for exactly these effects, this plan and this commit, once. Any change asks again.',
  ].join('\n')
}
