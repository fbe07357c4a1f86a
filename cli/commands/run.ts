import { z } from 'zod'
import { approvalSettings, type Floor } from '../../policy/decision/index.ts'
import { readCommit, startRun } from '../../runner/index.ts'
import type { Handler } from '../command.ts'
import { planOf } from '../document.ts'
import { CliError, exits } from '../failure.ts'
import { readHostFloor } from '../host-floor.ts'
import { decideAtTerminal, requireTerminal } from '../interactive.ts'
import { withLedger } from '../ledger.ts'
import { documentOptionsSchema } from '../options.ts'
import { outcomeResult } from '../outcome.ts'
import { hostPorts, runnerPorts } from '../ports.ts'
import { predict } from '../prediction.ts'
import { abortOnSignals } from '../signals.ts'

const optionsSchema = documentOptionsSchema.extend({
  check: z.boolean().default(false),
  diff: z.boolean().default(false),
  interactive: z.boolean().default(false),
})

/** `run FILE`: runs a document to its end or to its first pause; `--check` only predicts that. */
export const run: Handler = async (context, [file = ''], given) => {
  const options = optionsSchema.parse(given)
  if (options.diff && !options.check) throw new CliError('usage', '--diff needs --check', { help: 'add --check' })
  if (options.interactive) requireTerminal(context)
  const floor = readHostFloor()
  const { loaded, plan, findings } = await planOf(context, file, options, floor)
  const host = hostPorts(context, {
    workspace: loaded.workspace,
    documents: [loaded.absolute, ...loaded.sources],
    floor,
    interactive: options.interactive,
  })
  if (options.check) return predict(host, plan, { file, findings, diff: options.diff })

  const signal = abortOnSignals(context)
  return withLedger(
    context,
    async ledger => {
      const ports = runnerPorts(context, host, ledger, signal)
      const commit = readCommit(loaded.workspace)
      const started = await startRun(ports, {
        run: context.ids.uuid(),
        epoch: 1,
        plan,
        document: loaded.path,
        commit,
        settings: settingsUnder(floor),
        resumeWith: 'rerun',
        parent: null,
      })
      const resumed = { commit, workflowDigest: null }
      const ended = options.interactive ? await decideAtTerminal(context, ledger, ports, started, resumed) : started
      return outcomeResult(context, ended, file, plan, findings)
    },
    { create: true },
  )
}

function settingsUnder(floor: Floor | null) {
  const settings = approvalSettings(floor, {})
  if (settings.ok) return settings.settings
  throw new CliError('invalid_floor', settings.message, { exitCode: exits.denied, help: 'correct the host floor' })
}
