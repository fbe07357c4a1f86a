import type { Plan } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import type { RunOutcome } from '../runner/index.ts'
import { approvalLines, nextSteps } from './approval-lines.ts'
import type { CommandResult, Context, Finding } from './command.ts'
import { exits, finding } from './failure.ts'
import { ledgerCommand } from './next-command.ts'
import type { Line } from './output/text.ts'

/** Codes of what a run that did not succeed says. */
const codes: { readonly [state: string]: string } = {
  denied: 'policy_denied',
  failed: 'run_failed',
  uncertain: 'uncertain',
  cancelled: 'cancelled',
  running: 'not_recorded',
}

/** How a run stands, as `run` and `resume` answer it. `document` and `plan` give messages about a task their place. */
export function outcomeResult(
  context: Pick<Context, 'options'>,
  outcome: RunOutcome,
  document: string,
  plan: Plan,
  warnings: readonly Finding[] = [],
): CommandResult {
  const { run, state, exitCode, outputs } = outcome
  // A run that never reached the ledger has no event, hence no head: its id names nothing.
  const exists = outcome.head !== ''
  const approvals = state === 'paused' ? (outcome.pause?.items.filter(item => item.resolution === null) ?? []) : []
  const code = exitCode === exits.usage ? 'incompatible_state' : (codes[state] ?? state)
  const said =
    exitCode === exits.done
      ? []
      : outcome.messages.map(message => {
          // A refusal before anything ran begins with its own code.
          const [, own, rest] = (exitCode === exits.usage && /^([a-z_]+): (.*)$/s.exec(message)) || []
          return place(own ?? code, rest ?? message, document, plan)
        })
  const waits = state === 'paused' && exitCode === exits.denied ? [waiting(context, run, approvals.length)] : []
  return {
    kind: 'RunOutcome',
    exitCode,
    data: exists ? { runId: run, state, output: outputs, approvals: approvals as unknown as Json } : null,
    findings: [...warnings, ...said, ...waits],
    lines: [
      ...(exists ? [['run ', ['bold', run], ` ${state}`] as const] : []),
      ...outputLines(outputs),
      ...(waits.length === 0 ? [] : [...approvals.flatMap(approvalLines), ...nextSteps(context, run, approvals)]),
    ],
  }
}

function waiting(context: Pick<Context, 'options'>, run: string, open: number): Finding {
  const what = open === 1 ? 'one decision' : `${open} decisions`
  const help = `see ${ledgerCommand(context, `approvals list ${run}`)}`
  return finding('approval_pending', `the run waits for ${what}`, { help })
}

function place(code: string, message: string, document: string, plan: Plan): Finding {
  const task = /^task (\S+) /.exec(message)?.[1]
  const source = task === undefined ? undefined : plan.tasks[task]?.source
  return finding(code, message, source === undefined ? {} : { file: document, ...source })
}

/** A run's outputs as indented JSON; nothing where it has none. */
export function outputLines(outputs: Json): Line[] {
  if (typeof outputs !== 'object' || outputs === null || Object.keys(outputs).length === 0) return []
  return JSON.stringify(outputs, null, 2).split('\n')
}
