import type { ApprovalRecord, ExpectedEffect, Resolution } from '../policy/approval/record.ts'
import { shownIsolation } from '../policy/effect.ts'
import type { Context } from './command.ts'
import { ledgerCommand, resumeCommand } from './next-command.ts'
import { diffLines, type Line } from './output/text.ts'

/** An approval as a person needs it to decide: what will happen, why it is asked, until when; or what was decided. */
export function approvalLines(record: ApprovalRecord): Line[] {
  const head: Line = [['cyan', record.id], ' ', ['bold', record.task], ` ${record.tool}, risk ${record.risk}`]
  if (record.resolution !== null) return [head, `  ${verdict(record.resolution)}`]
  const needed = record.needed > 1 ? `, ${record.needed} people` : ''
  const isolation =
    record.expectedEffect.kind === 'process' || record.expectedEffect.kind === 'container'
      ? [`    isolation ${shownIsolation(record.isolation)}`]
      : []
  const what = [...effectLines(record.expectedEffect), ...isolation]
  return [head, `  ${record.reason}`, ...what, `  expires ${record.expiresAt}${needed}`]
}

/** What would happen, in full: a diff for a write, the command for a process. */
export function effectLines(expected: ExpectedEffect): Line[] {
  switch (expected.kind) {
    case 'write':
      return [`  writes ${expected.path} (${expected.bytes} bytes)`, ...diffLines(expected.diff, '    ')]
    case 'container':
      return [
        `  runs ${[expected.command, ...expected.args].map(word => JSON.stringify(word)).join(' ')} in ${expected.cwd}`,
        `    image ${expected.image.reference}, found as ${expected.image.id} on ${expected.engine.kind} ${expected.engine.version}`,
        ...sharedLines(expected),
      ]
    case 'process':
      return [
        `  runs ${[expected.command, ...expected.args].map(word => JSON.stringify(word)).join(' ')} in ${expected.cwd}`,
        `    executable ${expected.realPath}, SHA-256 ${expected.executableSha256}`,
        ...(expected.interpreters ?? []).map(({ path, sha256 }) => `    run by ${path}, SHA-256 ${sha256}`),
        ...sharedLines(expected),
      ]
    case 'other':
      return [`  ${expected.summary}`]
  }
}

/** What a process on the host and one in a container are shown with alike. */
function sharedLines(expected: Extract<ExpectedEffect, { kind: 'process' | 'container' }>): string[] {
  const { argvFiles, extension, secretHelpers = [], environment } = expected
  return [
    ...Object.entries(argvFiles).map(([file, sha256]) => `    file ${file}, SHA-256 ${sha256}`),
    ...(extension === undefined
      ? []
      : [`    extension ${extension.protocolVersion}, capabilities ${extension.capabilities.join(', ') || 'none'}`]),
    ...secretHelpers.flatMap(({ variable, command, args, realPath, executableSha256 }) => [
      `    first, for ${variable}, runs ${[command, ...args].map(word => JSON.stringify(word)).join(' ')}`,
      `      executable ${realPath}, SHA-256 ${executableSha256}`,
    ]),
    ...(environment.length === 0 ? [] : [`    environment ${environment.join(', ')}`]),
  ]
}

/** `approved by local:0: reason`. */
export function verdict({ outcome, by, reason, at }: Resolution): string {
  const who = by.length === 0 ? '' : ` by ${by.map(person => person.login).join(', ')}`
  return `${outcome}${who} at ${at}${reason === '' ? '' : `: ${reason}`}`
}

/** What to type next for a run that waits. */
export function nextSteps(
  context: Pick<Context, 'options'>,
  run: string,
  approvals: readonly ApprovalRecord[],
): Line[] {
  const resume = resumeCommand(context, run)
  const [first] = approvals
  if (first === undefined) return [[`Go on with: `, ['bold', resume]]]
  return [
    [`Decide with: `, ['bold', ledgerCommand(context, `approvals approve|reject ${first.id} --reason TEXT`)]],
    [`then:        `, ['bold', resume]],
  ]
}
