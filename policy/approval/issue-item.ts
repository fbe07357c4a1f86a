import { shownIsolation } from '../effect.ts'
import type { Json, JsonObject } from '../json.ts'
import { code, codeList, count, fenced } from './markdown.ts'
import type { ApprovalRecord, ExpectedEffect, SecretHelperShown } from './record.ts'

/**
 * One item in full, or without diff, argv and paths where the floor keeps those behind the sign-in.
 * @param isSummary `issue-detail: summary`
 */
export function itemSection(item: ApprovalRecord, pageUrl: string, isSummary: boolean): string {
  if (isSummary) {
    return `${heading(item)}\n\n${labels(item)}\n- What exactly: [the approval page](${pageUrl}) shows it after sign-in; review it there before you decide`
  }
  const asks = [labels(item), `- Why it asks: ${code(item.reason, 60_000)}`, ...trace(item)].join('\n')
  return [heading(item), asks, ...expected(item)].join('\n\n')
}

/** One item whose details do not fit: says how much is left out and where it is. */
export function itemSummary(item: ApprovalRecord, pageUrl: string, length: number): string {
  const note = `- What exactly: too long to show here (${length} characters). Review it on [the approval page](${pageUrl}) before you decide`
  return `${heading(item)}\n\n${labels(item)}\n${note}`
}

function heading(item: ApprovalRecord): string {
  return `### ${item.number}. ${code(item.task, 200)}`
}

function labels(item: ApprovalRecord): string {
  const capability =
    item.capability === '' || item.capability === item.tool ? '' : `, capability ${code(item.capability, 100)}`
  const agent = item.agent === null ? '' : `; asked by agent ${code(item.agent, 100)}`
  return [
    `- Tool: ${code(item.tool, 100)}${capability}${agent}`,
    `- Effect class ${code(item.effectClass)}, risk ${code(item.risk)}, isolation ${code(isolationOf(item))}, effect ${code(item.effect.slice(0, 12))}`,
  ].join('\n')
}

/** The answers that led here, each with the rule that gave it. The record holds them as the job told them. */
function trace({ decisionTrace }: ApprovalRecord): string[] {
  if (decisionTrace.length === 0) return []
  return [
    '- Decided, in this order:',
    ...decisionTrace.map(told => {
      const remedy = textOf(told.remedy)
      const change = remedy === '' ? '' : `; to change that: ${code(remedy, 1000)}`
      const answer = `${word(told.step)}: ${word(told.outcome)} by ${code(textOf(told.rule), 200)} (${word(told.origin)})`
      return `  - ${answer}, about ${code(textOf(told.subject), 1000)}${change}`
    }),
  ]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A word of ours as it is, anything else as code. */
function word(value: unknown): string {
  const text = textOf(value)
  return /^[a-z]{1,20}$/.test(text) ? text : code(text, 200)
}

function isolationOf({ isolation, expectedEffect }: ApprovalRecord): string {
  return expectedEffect.kind === 'process' ? shownIsolation(isolation) : isolation
}

function expected(item: ApprovalRecord): string[] {
  const { expectedEffect: effect } = item
  if (effect.kind === 'write') return expectedWrite(effect)
  if (effect.kind === 'process') return [...expectedProcess(effect), ...inputOf(item.input)]
  if (effect.kind === 'container') return [...expectedContainer(effect), ...inputOf(item.input)]
  return [`It will: ${code(effect.summary, 60_000)}`, ...detail(effect.detail), ...inputOf(item.input)]
}

function expectedWrite(effect: Extract<ExpectedEffect, { kind: 'write' }>): string[] {
  const before = effect.beforeSha256 === null ? 'a new file' : `replacing ${code(effect.beforeSha256)}`
  return [
    `Writes this file, ${count(effect.bytes, 'byte')}, SHA-256 ${code(effect.afterSha256)}, ${before}:`,
    fenced(effect.path),
    effect.diff === '' ? 'The text has no lines that differ.' : fenced(effect.diff, 'diff'),
  ]
}

function expectedProcess(effect: Extract<ExpectedEffect, { kind: 'process' }>): string[] {
  return [
    'Runs this program with these arguments, one a line as JSON:',
    ...argvOf(effect),
    [
      `- Program file: ${code(effect.realPath, 60_000)}, SHA-256 ${code(effect.executableSha256)}`,
      ...(effect.interpreters ?? []).map(
        ({ path, sha256 }) => `- Run by: ${code(path, 60_000)}, SHA-256 ${code(sha256)}`,
      ),
      `- In directory: ${code(effect.cwd, 60_000)}`,
      ...boundsOf(effect),
    ].join('\n'),
    ...filesOf(effect),
  ]
}

function expectedContainer(effect: Extract<ExpectedEffect, { kind: 'container' }>): string[] {
  return [
    'Runs this program of an image in a container, with these arguments, one a line as JSON:',
    ...argvOf(effect),
    [
      `- Image: ${code(effect.image.reference, 60_000)}, found as ${code(effect.image.id)}`,
      `- Engine: ${code(`${effect.engine.kind} ${effect.engine.version}`, 200)}`,
      `- Sees, and cannot write, directory: ${code(effect.cwd, 60_000)}`,
      '- No network; /tmp of 16 MiB is all that it can write',
      ...boundsOf(effect),
    ].join('\n'),
    ...filesOf(effect),
  ]
}

type Expected = Extract<ExpectedEffect, { kind: 'process' | 'container' }>

function argvOf({ command, args }: Expected): string[] {
  return [fenced([command, ...args].map(word => JSON.stringify(word)).join('\n'), 'json')]
}

function boundsOf(effect: Expected): string[] {
  const limits = Object.entries(effect.limits).map(([name, limit]) => `${name} ${limit}`)
  return [
    `- Variables: ${effect.environment.length === 0 ? 'none' : codeList(effect.environment, 10_000)}`,
    `- Limits: ${limits.length === 0 ? 'none named' : codeList(limits, 50)}`,
    ...extensionOf(effect.extension),
    ...helpersOf(effect.secretHelpers ?? []),
  ]
}

function filesOf({ argvFiles }: Expected): string[] {
  const files = Object.entries(argvFiles).map(([path, digest]) => `${digest}  ${path}`)
  if (files.length === 0) return []
  return ['Files of the workspace that the arguments name, with their SHA-256:', fenced(files.join('\n'))]
}

function extensionOf(extension: Expected['extension']): string[] {
  if (extension === undefined) return []
  const { protocolVersion, capabilities } = extension
  const listed = capabilities.length === 0 ? 'none' : codeList(capabilities, 10_000)
  return [`- Extension: protocol ${code(protocolVersion, 200)}, capabilities ${listed}`]
}

function helpersOf(helpers: readonly SecretHelperShown[]): string[] {
  return helpers.map(({ variable, command, args, realPath, executableSha256 }) => {
    const argv = [command, ...args].map(word => JSON.stringify(word)).join(' ')
    const file = `program file ${code(realPath, 60_000)}, SHA-256 ${code(executableSha256)}`
    return `- Runs first, for the value of ${code(variable, 200)}: ${code(argv, 60_000)}, ${file}`
  })
}

function inputOf(input: JsonObject): string[] {
  return Object.keys(input).length === 0 ? [] : ['Input:', fenced(JSON.stringify(input, null, 2), 'json')]
}

function detail(value: Json): string[] {
  return value === null ? [] : [fenced(JSON.stringify(value, null, 2), 'json')]
}
