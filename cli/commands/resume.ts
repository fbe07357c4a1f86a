import { resolve as resolvePath } from 'node:path'
import { z } from 'zod'
import type { Plan } from '../../policy/document/plan.ts'
import { hostFloorRecord } from '../../runner/facts/host-floor.ts'
import { readCommit, resumeRun } from '../../runner/index.ts'
import type { Handler } from '../command.ts'
import { presentDigest } from '../document.ts'
import { workspaceOf } from '../files.ts'
import { readHostFloor, refuseStricter } from '../host-floor.ts'
import { decideAtTerminal, requireTerminal } from '../interactive.ts'
import { recordOf, refuseForeign, withLedger } from '../ledger.ts'
import { outcomeResult } from '../outcome.ts'
import { hostPorts, runnerPorts } from '../ports.ts'
import { abortOnSignals } from '../signals.ts'

const optionsSchema = z.object({ interactive: z.boolean().default(false) })

/** `resume RUN`: goes on with a run by its stored plan; one that has ended gives its end again, and nothing runs. */
export const resume: Handler = async (context, [run = ''], given) => {
  const { interactive } = optionsSchema.parse(given)
  if (interactive) requireTerminal(context)
  const workspace = workspaceOf(context)
  const signal = abortOnSignals(context)
  return withLedger(context, async ledger => {
    const record = recordOf(ledger.store, run)
    refuseForeign(record, 'only its job may go on with it')
    const isOpen = record.state === 'running' || record.state === 'paused'
    const workflowDigest = isOpen ? presentDigest(context, record.document) : null
    if (isOpen && workflowDigest === null)
      context.tell([['yellow', 'warning'], `: ${record.document} is not here; the run goes on with its stored plan`])
    const snapshot = ledger.store.snapshot(run)
    const plan = snapshot?.plan as unknown as Plan
    const documents = [record.document, ...plan.sourceFiles].map(file => resolvePath(workspace, file))
    const floor = readHostFloor()
    if (isOpen && snapshot !== null) refuseStricter(snapshot, floor)
    const host = hostPorts(context, { workspace, documents, floor, interactive })
    const ports = runnerPorts(context, host, ledger, signal)
    const resumed = {
      commit: readCommit(workspace),
      workflowDigest,
      ...(floor?.expiresAfter !== undefined && { expiresWithinSeconds: floor.expiresAfter }),
    }
    const epoch = await ledger.acquire(run, hostFloorRecord(floor))
    const gone = await resumeRun(ports, { run, epoch, ...resumed })
    const ended = interactive ? await decideAtTerminal(context, ledger, ports, gone, resumed) : gone
    return outcomeResult(context, ended, record.document, plan)
  })
}
