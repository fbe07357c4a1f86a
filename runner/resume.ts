import { LedgerError, type RunSnapshot } from '../ledger/port.ts'
import { planOfRun } from '../ledger/run-plan.ts'
import type { Plan } from '../policy/document/plan.ts'
import { type RunContext, report } from './context.ts'
import { shownMessage } from './drafts.ts'
import { drive } from './drive.ts'
import { UnknownFact } from './facts/unknown.ts'
import { endLeftovers } from './leftovers.ts'
import { openRun } from './open-run.ts'
import { persistenceOutcome, recordedOutcome, refusedOutcome } from './outcome.ts'
import { patiently } from './patience.ts'
import { completeBatch, inFlight, leaveUncertain, rebuild } from './rebuild.ts'
import { restoreArtifacts } from './restore.ts'
import { defaultTimings, type NewRun, type ResumedRun, type RunnerPorts, type RunOutcome } from './run.ts'
import { environmentRedactor } from './secrets/environment.ts'

/**
 * Goes on with a recorded run: its stored plan, its confirmed results, its files restored first. A run that has ended
 * gives its recorded outcome again, a pause with an undecided item gives the pause again; nothing runs in either.
 * The caller holds the lease at `run.epoch` unless the run is one of those. Throws LedgerError where the run cannot be
 * read; refusals are outcomes with exit code 2 (another document, commit or format), 4 (diverged workspace).
 */
export async function resumeRun(ports: RunnerPorts, run: ResumedRun): Promise<RunOutcome> {
  const timings = ports.timings ?? defaultTimings
  const snapshot = await patiently(timings, ports.signal, () => ports.ledger.snapshot(run.run))
  if (snapshot === null)
    throw new LedgerError(
      'not_found',
      `There is no run ${run.run} in this ledger; check its id and the ledger's place.`,
    )
  if (snapshot.record.state !== 'running') return recordedOutcome(snapshot)

  const plan = planOfRun(snapshot)
  let context: RunContext
  try {
    context = openRun(ports, {
      run: run.run,
      epoch: run.epoch,
      plan,
      parent: await parentOf(ports, run, snapshot),
      expiresAfterSeconds: Math.min(snapshot.record.settings.expiresAfterSeconds, run.expiresWithinSeconds ?? Infinity),
    })
  } catch (error) {
    if (!(error instanceof UnknownFact)) throw error
    return refusedOutcome(snapshot, 2, environmentRedactor(plan, ports.environment).text(error.message))
  }
  try {
    const incompatible = incompatibility(plan, snapshot, run)
    if (incompatible !== null) return await refuse(context, snapshot, 2, incompatible)
    rebuild(context, snapshot)
    await endLeftovers(context)
    const unseen = inFlight(snapshot)
    if (unseen.length > 0) {
      await leaveUncertain(context, unseen)
      await completeBatch(context, snapshot)
      return await drive(context)
    }
    const restored = await restoreArtifacts(context.host.workspace, snapshot.effects, ports.ledger)
    if (!restored.ok) return await refuse(context, snapshot, 4, `${restored.code}: ${restored.message}`)
    for (const path of restored.paths) report(context, { type: 'restored', path })
    await completeBatch(context, snapshot)
  } catch (error) {
    if (error instanceof LedgerError) return persistenceOutcome(context, error)
    throw error
  }
  return drive(context)
}

/** Leaves the run to whoever comes next. */
async function refuse(
  context: RunContext,
  snapshot: RunSnapshot,
  exitCode: number,
  message: string,
): Promise<RunOutcome> {
  await context.journal.apply([{ type: 'lease.release' }])
  return refusedOutcome(snapshot, exitCode, shownMessage(context, message))
}

/** Why this workspace is not the one that the run was started on; null where it is. */
function incompatibility(plan: Plan, { record }: RunSnapshot, run: ResumedRun): string | null {
  if (plan.formatVersion !== 1)
    return `incompatible_state: the run's plan has format ${String(plan.formatVersion)} and this version reads 1; resume with the version that made it`
  if (plan.planDigest !== record.planDigest)
    return `incompatible_state: the stored plan is ${plan.planDigest} and the run was started on ${record.planDigest}`
  if (run.workflowDigest !== null && run.workflowDigest !== record.workflowDigest)
    return `incompatible_state: the document has changed: the run was started on ${record.workflowDigest}, this checkout has ${run.workflowDigest}; restore the document, or start a new run`
  for (const part of ['sha', 'head'] as const) {
    const [then, now] = [record.commit[part], run.commit[part]]
    if (then !== now)
      return `incompatible_state: the commit has changed: the run was started on ${part} ${then ?? 'none'}, this checkout has ${now ?? 'none'}; check out the same commit, or start a new run`
  }
  return null
}

/** What a failed run before this one confirmed; where nobody says, its record; where that is closed to us, the worst. */
async function parentOf(
  ports: RunnerPorts,
  run: ResumedRun,
  { record }: RunSnapshot,
): Promise<NewRun['parent'] | 'unreadable'> {
  if (run.parent !== undefined) return run.parent
  if (record.parent === null) return null
  try {
    const parent = await ports.ledger.snapshot(record.parent)
    if (parent === null) return 'unreadable'
    const confirmed = parent.effects
      .filter(({ state }) => state === 'succeeded')
      .map(effect => ({
        operation: effect.operation,
        task: effect.task,
        inputDigest: effect.inputDigest,
        effect: effect.effect,
        at: effect.finishedAt ?? effect.requestedAt,
      }))
    return { run: record.parent, confirmed }
  } catch {
    return 'unreadable'
  }
}
