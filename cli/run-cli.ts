import { CommanderError } from 'commander'
import type { Base, CommandResult, Context, Handler } from './command.ts'
import { describeFailure, exits, finding } from './failure.ts'
import { requireNode } from './node-version.ts'
import { globalOptionsOf, wantsJson } from './options.ts'
import { type Format, print, printNow } from './output/print.ts'
import { render, usesColour } from './output/text.ts'
import { createProgram } from './program.ts'

/** Runs one command line; answers the exit code. Never throws. */
export async function runCli(argv: readonly string[], base: Base): Promise<number> {
  let format: Format = { output: wantsJson(argv) ? 'json' : 'human', color: 'auto' }
  let result: CommandResult
  let isAnswered = false
  const tellOverdue = () => {
    if (!isAnswered) printNow(overdue, format, base)
  }
  try {
    let done: CommandResult | null = null
    const program = createProgram(base, format.output, async (load, operands, given) => {
      const options = globalOptionsOf(given)
      format = options
      requireNode(process.version)
      const handler: Handler = await load()
      done = await handler(contextOf(base, options, tellOverdue), operands, given)
    })
    await program.parseAsync([...argv], { from: 'user' })
    if (done === null) return exits.done
    result = done
  } catch (thrown) {
    const answered = answerOf(thrown)
    if (answered === null) return exits.done
    result = answered
  }
  isAnswered = true
  print(result, format, base)
  return result.exitCode
}

const overdue: CommandResult = {
  kind: 'Failure',
  exitCode: exits.cancelled,
  data: null,
  lines: [],
  findings: [
    finding('cancelled', 'cancelled; the end could not be recorded in time', {
      help: 'the next `agentctl run` or `resume` on this host ends what is left; `agentctl inspect` shows what is recorded',
    }),
  ],
}

function contextOf(base: Base, options: Context['options'], tellOverdue: () => void): Context {
  const colour = usesColour(options.color, base.stderr)
  return {
    ...base,
    options,
    tellOverdue,
    tell(line) {
      if (options.output === 'human') base.stderr.write(render([line], colour))
    },
  }
}

/** null where the command line asked for help or the version, which is written by now. */
function answerOf(thrown: unknown): CommandResult | null {
  if (!(thrown instanceof CommanderError)) {
    return { kind: 'Failure', data: null, lines: [], ...describeFailure(thrown) }
  }
  if (thrown.exitCode === 0) return null
  const isHelp = thrown.code === 'commander.help'
  const message = isHelp ? 'a command is missing' : thrown.message.replace(/^error: /, '')
  const help = 'see agentctl --help'
  return {
    kind: 'Failure',
    exitCode: exits.usage,
    data: null,
    lines: [],
    findings: [finding('usage', message, { help })],
  }
}
