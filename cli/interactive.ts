import { createInterface } from 'node:readline/promises'
import type { EmbeddedLedger } from '../ledger/index.ts'
import type { ApprovalRecord } from '../policy/approval/record.ts'
import { hostFloorRecord } from '../runner/facts/host-floor.ts'
import { type ResumedRun, type RunnerPorts, type RunOutcome, resumeRun } from '../runner/index.ts'
import { approvalLines } from './approval-lines.ts'
import type { Context } from './command.ts'
import { CliError } from './failure.ts'
import { personOf, reasonOf } from './person.ts'
import { castVote, checkMayDecide } from './vote.ts'

/** Refuses `--interactive` where nobody could answer. Throws CliError, exit 2. */
export function requireTerminal({ stdin, stderr, options }: Context): void {
  if (stdin.isTTY === true && stderr.isTTY === true && options.output === 'human') return
  throw new CliError('no_terminal', '--interactive needs a terminal, and text as output', {
    help: 'leave it out: the run then pauses, and agentctl approvals decides',
  })
}

/** Asks about every open item of each pause and goes on, until the run ends or an item is left open. */
export async function decideAtTerminal(
  context: Context,
  ledger: EmbeddedLedger,
  ports: RunnerPorts,
  outcome: RunOutcome,
  resumed: Pick<ResumedRun, 'commit' | 'workflowDigest' | 'expiresWithinSeconds'>,
): Promise<RunOutcome> {
  let current = outcome
  while (current.state === 'paused') {
    const { run } = current
    for (const { id } of current.pause?.items ?? []) {
      const item = ledger.store.approval(id)
      // A rejection may have settled the others.
      if (item !== null && item.resolution === null) await askAbout(context, ledger, item, ports.signal)
    }
    const epoch = await ledger.acquire(run, hostFloorRecord(ports.hostFloor ?? null))
    const next = await resumeRun(ports, { run, epoch, ...resumed })
    if (next.pause !== null && next.pause.pause === current.pause?.pause) return next
    current = next
  }
  return current
}

async function askAbout(
  context: Context,
  ledger: EmbeddedLedger,
  item: ApprovalRecord,
  signal: AbortSignal,
): Promise<void> {
  checkMayDecide(context, ledger, item)
  context.tell('')
  for (const line of approvalLines(item)) context.tell(line)
  const terminal = createInterface({ input: context.stdin, output: context.stderr })
  // In raw mode the terminal sends no signal: readline tells of Ctrl-C itself.
  const stop = AbortSignal.any([signal, interruptOf(terminal)])
  try {
    const word = (await terminal.question('approve, reject, or later? ', { signal: stop })).trim().toLowerCase()
    const vote = word === 'approve' || word === 'reject' ? word : null
    if (vote === null) return
    const reason = reasonOf((await terminal.question('reason: ', { signal: stop })) || `${vote} at the terminal`)
    castVote(context, ledger, item, { vote, person: personOf(context, undefined), reason })
  } finally {
    terminal.close()
  }
}

/** Ctrl-C, and the end of the input: a question that nobody will answer must not keep the command waiting. */
function interruptOf(terminal: { once(event: 'SIGINT' | 'close', listener: () => void): unknown }): AbortSignal {
  const controller = new AbortController()
  for (const event of ['SIGINT', 'close'] as const) terminal.once(event, () => controller.abort())
  return controller.signal
}
