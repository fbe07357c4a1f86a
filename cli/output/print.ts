import type { Json } from '../../policy/json.ts'
import type { Base, CommandResult } from '../command.ts'
import { exits } from '../failure.ts'
import { findingLines } from './findings.ts'
import { render, usesColour } from './text.ts'
import { writeNow } from './write-now.ts'

const stderrDescriptor = 2

type Streams = Pick<Base, 'stdout' | 'stderr'>

export interface Format {
  output: 'human' | 'json'
  color: 'auto' | 'always' | 'never'
}

/** The one way out: an envelope on stdout, on stderr where the command failed; or text, what is wrong on stderr. */
export function print(result: CommandResult, format: Format, { stdout, stderr }: Streams): void {
  const succeeded = result.exitCode === exits.done
  if (result.isWritten && succeeded) return
  if (format.output === 'json') {
    ;(succeeded ? stdout : stderr).write(envelope(result))
    return
  }
  stdout.write(render(result.lines, usesColour(format.color, stdout)))
  stderr.write(render(findingLines(result.findings), usesColour(format.color, stderr)))
}

/** As `print` of a command that failed and has no lines, written when this returns: for a process that ends at once. */
export function printNow(result: CommandResult, format: Format, { stderr }: Streams): void {
  const text =
    format.output === 'json'
      ? envelope(result)
      : render(findingLines(result.findings), usesColour(format.color, stderr))
  writeNow(stderrDescriptor, text)
}

function envelope({ kind, exitCode, data, findings }: CommandResult): string {
  const shown = { apiVersion: 'agentctl.dev/cli/v1', kind, ok: exitCode === exits.done, data, diagnostics: findings }
  return `${JSON.stringify(shown satisfies { data: Json })}\n`
}
