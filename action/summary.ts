import { summary } from '@actions/core'
import type { ApprovalRecord } from '../policy/approval/record.ts'
import { containmentLines } from './containment.ts'
import type { Outcome } from './outcome.ts'
import { type TaskLine, verdict } from './progress.ts'

/** GitHub takes 1 MiB a step; we stop before (09, Limits). */
const summaryLimitBytes = 921_600
const outputsShownBytes = 32_768

const headlines = {
  succeeded: 'done',
  paused: 'waiting for approval',
  denied: 'denied',
  failed: 'failed',
  uncertain: 'uncertain: an effect may or may not have happened',
  cancelled: 'cancelled',
} as const

/** What the summary shows beside the outcome. */
export interface SummaryFacts {
  document: string
  tasks: TaskLine[]
  /** Items of earlier pauses of this run, decided. */
  approvals: ApprovalRecord[]
  /** `installed`, `none` or `not readable`. */
  hostFloor: string
}

/** Appends the job summary; a runner that takes none is no fault. */
export async function writeSummary(outcome: Outcome, facts: SummaryFacts): Promise<void> {
  if (!process.env['GITHUB_STEP_SUMMARY']) return
  await summary.addRaw(summaryText(outcome, facts)).write()
}

/** The summary as Markdown, cut between lines at 900 KiB with where the rest is. Every value is escaped. */
export function summaryText(outcome: Outcome, facts: SummaryFacts): string {
  const lines = [
    ...heading(outcome, facts),
    ...approvals(outcome, facts),
    ...taskTable(facts.tasks),
    ...containment(facts.tasks),
    ...outputs(outcome),
    ...proof(outcome, facts),
    ...trace(facts.tasks),
  ]
  const cut = `\n\n**Cut here.** The rest is in the audit trail${outcome.auditUrl === '' ? '' : `: ${outcome.auditUrl}`}\n`
  const kept: string[] = []
  let bytes = Buffer.byteLength(cut)
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1
    if (bytes > summaryLimitBytes) return `${kept.join('\n')}${cut}`
    kept.push(line)
  }
  return `${kept.join('\n')}\n`
}

function heading({ status, messages, issue }: Outcome, { document }: SummaryFacts): string[] {
  const link = issue === null ? [] : ['', `Decide in [issue #${issue.number}](${encodeURI(issue.url)}).`]
  return [
    `## agentctl ${escaped(document)}: ${headlines[status]}`,
    ...link,
    '',
    ...messages.map(text => `- ${escaped(text)}`),
  ]
}

function approvals({ pause }: Outcome, { approvals: earlier }: SummaryFacts): string[] {
  const items = [...earlier, ...(pause?.items ?? [])]
  if (items.length === 0) return []
  const until = pause === null ? '' : `, until ${escaped(pause.expiresAt)} (digest ${escaped(pause.shortDigest)})`
  const row = ({ number, task, tool, risk, resolution, reason }: ApprovalRecord) => {
    const decision = resolution === null ? 'undecided' : `${verdict(resolution)} (${resolution.at})`
    return `| ${number} | ${escaped(task)} | ${escaped(tool)} | ${risk} | ${escaped(decision)} | ${escaped(reason)} |`
  }
  const later = (pause?.later ?? []).map(task => escaped(task)).join(', ')
  return [
    '',
    `### Approvals${until}`,
    '',
    '| # | task | tool | risk | decision | why it asks |',
    '|---|---|---|---|---|---|',
    ...items.map(row),
    ...(later === '' ? [] : ['', `Will be asked later: ${later}`]),
  ]
}

function taskTable(tasks: TaskLine[]): string[] {
  if (tasks.length === 0) return []
  const row = ({ task, kind, state, milliseconds, decisions, message }: TaskLine) =>
    `| ${escaped(task)} | ${escaped(kind)} | ${escaped(state)} | ${milliseconds} ms | ${decisions.map(text => escaped(text)).join('<br>')} | ${escaped(message)} |`
  return [
    '',
    '### Tasks',
    '',
    '| task | kind | state | time | decisions | |',
    '|---|---|---|---|---|---|',
    ...tasks.map(row),
  ]
}

function containment(tasks: TaskLine[]): string[] {
  const lines = containmentLines(tasks)
  if (lines.length === 0) return []
  const text = lines.map(line => `- ${escaped(line)}`)
  return ['', '### Host processes', '', 'Processes on the host ran bounded; this is not a sandbox.', '', ...text]
}

function outputs({ outputs }: Outcome): string[] {
  const text = JSON.stringify(outputs ?? null, null, 2)
  if (text === 'null' || text === '{}') return []
  const shown = text.length <= outputsShownBytes ? text : `${text.slice(0, outputsShownBytes)}\n...`
  return ['', '### Outputs', '', `<pre>${escaped(shown, true)}</pre>`]
}

function proof({ run, planDigest, head, auditUrl }: Outcome, { hostFloor }: SummaryFacts): string[] {
  const rows = [
    ['run', run],
    ['plan', planDigest],
    ['audit chain head', head],
    ['audit', auditUrl],
    ['host floor', hostFloor],
  ]
  const shown = rows.flatMap(([name, value]) => (value ? [`| ${name} | ${escaped(value)} |`] : []))
  return ['', '### Proof', '', '| | |', '|---|---|', ...shown]
}

/** The five answers about each effect; last, since it is the first thing to be cut. */
function trace(tasks: TaskLine[]): string[] {
  const rows = tasks.flatMap(({ task, steps }) =>
    steps.map(({ step, outcome, rule, origin, subject, remedy }) =>
      [task, step, outcome, rule, origin, subject, remedy].map(cell => ` ${escaped(cell)} `).join('|'),
    ),
  )
  if (rows.length === 0) return []
  const head = ['', '### Decisions', '', '| task | decision | answer | rule | whose | about | what to change |']
  return [...head, '|---|---|---|---|---|---|---|', ...rows.map(row => `|${row}|`)]
}

/**
 * Text of others in Markdown and HTML: every character that could begin syntax, a link or a mention becomes its entity,
 * control characters a space (with `lines`, line ends stay).
 */
export function escaped(text: string, lines = false): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]/gu, character => (lines && character === '\n' ? character : ' '))
    .replace(/[^\p{L}\p{M}\p{N} .,;/()=+\n-]/gu, character => `&#${character.codePointAt(0)};`)
}
