import { resolve as resolvePath } from 'node:path'
import { z } from 'zod'
import { compensationsOf, type LedgerStore, planOfRun } from '../../ledger/index.ts'
import type { RunRecord, RunSnapshot } from '../../ledger/port.ts'
import type { Plan } from '../../policy/document/plan.ts'
import { hostFloorRecord } from '../../runner/facts/host-floor.ts'
import { readCommit, resumeRun } from '../../runner/index.ts'
import type { CommandResult, Context, Handler } from '../command.ts'
import { CliError, exits } from '../failure.ts'
import { workspaceOf } from '../files.ts'
import { readHostFloor, refuseStricter } from '../host-floor.ts'
import { decideAtTerminal, requireTerminal } from '../interactive.ts'
import { localUser, recordOf, refuseForeign, withLedger } from '../ledger.ts'
import { ledgerCommand, resumeCommand } from '../next-command.ts'
import { outcomeResult } from '../outcome.ts'
import { personOf, reasonOf } from '../person.ts'
import { hostPorts, runnerPorts } from '../ports.ts'
import { abortOnSignals } from '../signals.ts'

const optionsSchema = z.object({
  reason: z.string(),
  actor: z.string().optional(),
  interactive: z.boolean().default(false),
})
type Options = z.output<typeof optionsSchema>

/**
 * `compensate RUN`: undoes what succeeded in a run that did not, the last first, each under policy and approval. The run
 * stays what it was; exit 0 says that nothing is left to undo. Called again, goes on where it paused or stopped.
 */
export const compensate: Handler = async (context, [run = ''], given) => {
  const options = optionsSchema.parse(given)
  if (options.interactive) requireTerminal(context)
  const workspace = workspaceOf(context)
  const signal = abortOnSignals(context)
  return withLedger(context, async ledger => {
    const { store } = ledger
    const record = recordOf(store, run)
    refuseForeign(record, 'its control plane has it undone in that job (POST .../runs/ID/compensate)')
    const floor = readHostFloor()
    refuseStricter(snapshotOf(store, run), floor)
    if (!begin(context, store, record, options)) return nothingLeft(context, snapshotOf(store, run))
    const plan = snapshotOf(store, run).plan as unknown as Plan
    const documents = [record.document, ...plan.sourceFiles].map(file => resolvePath(workspace, file))
    const host = hostPorts(context, {
      workspace,
      documents,
      floor,
      interactive: options.interactive,
    })
    const ports = runnerPorts(context, host, ledger, signal)
    // The stored plan says how it is undone, whatever the document says by now.
    const resumed = { commit: readCommit(workspace), workflowDigest: null }
    const gone = await resumeRun(ports, { run, epoch: await ledger.acquire(run, hostFloorRecord(floor)), ...resumed })
    const ended = options.interactive ? await decideAtTerminal(context, ledger, ports, gone, resumed) : gone
    const after = snapshotOf(store, run)
    if (isOver(after.record) && compensationsOf(after).length === 0) return nothingLeft(context, after)
    // The run keeps its end, which says nothing of the undoing: that stopped.
    const exitCode = isOver(after.record) && !signal.aborted ? exits.failed : ended.exitCode
    return outcomeResult(context, { ...ended, exitCode }, record.document, planOfRun(after))
  })
}

/** Opens the run for its compensations, unless it is open for them already; false where nothing is left to undo. */
function begin(context: Context, store: LedgerStore, record: RunRecord, { actor, reason }: Options): boolean {
  const { run, state } = record
  const snapshot = snapshotOf(store, run)
  if (!isOver(record)) {
    if (state !== 'uncertain' && snapshot.tasks.at(-1)?.compensates !== undefined) return true
    throw new CliError(
      'not_ended',
      `run ${run} is ${state}: only a run that failed, was denied or cancelled is undone`,
      {
        help:
          state === 'uncertain'
            ? `settle what nobody saw end: ${ledgerCommand(context, `effects list ${run}`)}`
            : `let it end: ${resumeCommand(context, run)}, or ${ledgerCommand(context, `cancel ${run}`)}`,
      },
    )
  }
  if (state === 'succeeded')
    throw new CliError('run_succeeded', `run ${run} succeeded: compensation undoes a run that did not`, {
      help: 'run a document that does what you want',
    })
  if ((snapshot.plan as unknown as Plan).compensation === undefined)
    throw new CliError('nothing_to_compensate', `no task of run ${run} says how it is undone`, {
      help: 'undo it by hand; for later runs write `compensate` at the tasks that can be undone',
    })
  const tasks = compensationsOf(snapshot)
  if (tasks.length === 0) return false
  const person = personOf(context, actor)
  store.control(
    { run, commands: [{ id: context.ids.uuid(), type: 'run.compensate', tasks, person, reason: reasonOf(reason) }] },
    localUser(context),
  )
  return true
}

function isOver({ state }: RunRecord): boolean {
  return state !== 'running' && state !== 'paused' && state !== 'uncertain'
}

function nothingLeft(context: Pick<Context, 'options'>, { record, tasks }: RunSnapshot): CommandResult {
  const { run, state } = record
  const undone = tasks.flatMap(task =>
    task.compensates !== undefined && task.state === 'succeeded' ? [task.compensates] : [],
  )
  return {
    kind: 'RunOutcome',
    exitCode: exits.done,
    data: { runId: run, state, output: null, approvals: [], compensated: undone },
    findings: [],
    lines: [
      undone.length === 0
        ? `run ${run}: nothing that can be undone has succeeded`
        : [['green', 'compensated'], `: ${undone.join(', ')}`],
      [`run ${run} stays `, ['bold', state], `: ${ledgerCommand(context, `inspect ${run}`)}`],
    ],
  }
}

function snapshotOf(store: LedgerStore, run: string): RunSnapshot {
  const snapshot = store.snapshot(run)
  if (snapshot === null) throw new Error(`run ${run} went away`)
  return snapshot
}
