import type { Instance } from '../../../ledger/commands.ts'
import type { OutboxRow } from '../../../ledger/index.ts'
import type { RunRecord } from '../../../ledger/port.ts'
import type { RedispatchFacts } from '../../../policy/approval/index.ts'
import { type Failure, type Result, success, type WorkflowRun } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { textOf } from '../rows.ts'
import { pausedJob } from './paused-job.ts'

/** What the choice needs, read from GitHub now; what only a dispatch needs is read only where a dispatch is possible. */
export async function redispatchFacts(
  context: RepositoryContext,
  record: RunRecord,
  instance: Instance,
  row: OutboxRow,
): Promise<Result<RedispatchFacts>> {
  const { github, clock } = context
  const run = await github.workflowRun(instance.workflowRunId)
  if (!run.ok) return run
  const isOver = run.value.status === 'completed'
  const [state, jobs, newer] = await Promise.all([
    github.workflowState(run.value.workflowId),
    github.jobs(run.value.id, run.value.attempt),
    isOver ? newerRun(context, run.value, instance) : success(null),
  ])
  const failed = firstFailure([state, jobs, newer])
  if (failed !== null) return failed
  if (!state.ok || !jobs.ok || !newer.ok) throw new TypeError('a failed reading was passed over')
  const refused = textOf(row, 'rerunRefused')
  const mayDispatch = isOver && (record.resumeWith === 'workflow_dispatch' || refused !== '')
  const dispatch = mayDispatch
    ? await dispatchFacts(context, instance, run.value)
    : success({ sha: null, isDeclared: false })
  if (!dispatch.ok) return dispatch
  const { jobId, ours } = pausedJob(context.store, jobs.value, instance)
  const paused = new Set([...resolvedPauses(context, instance.workflowRunId), ...ours])
  return success({
    resumeWith: record.resumeWith,
    now: clock.now().toISOString(),
    workflowRun: run.value,
    workflowState: state.value,
    jobs: jobs.value.map(job => ({ ...job, isResolvedPause: paused.has(job.name) })),
    jobId,
    ref: isRef(instance.ref) ? { name: instance.ref, sha: dispatch.value.sha } : null,
    sha: instance.sha,
    dispatchInputDeclared: dispatch.value.isDeclared,
    newerRun: newer.value,
    onSuperseded: record.settings.onSuperseded,
    rerunRefused: refused === '' ? null : refused,
  })
}

/** Name of the input by which a dispatched workflow learns whose run it resumes. */
export const dispatchInput = 'agentctl-run'

async function dispatchFacts(
  { github }: RepositoryContext,
  instance: Instance,
  run: WorkflowRun,
): Promise<Result<{ sha: string | null; isDeclared: boolean }>> {
  if (!isRef(instance.ref)) return success({ sha: null, isDeclared: false })
  const ref = await github.ref(instance.ref)
  if (!ref.ok) return ref.code === 'not_found' ? success({ sha: null, isDeclared: false }) : ref
  const inputs = await github.dispatchInputs(run.path, ref.value.sha)
  if (!inputs.ok) return inputs
  return success({ sha: ref.value.sha, isDeclared: inputs.value?.includes(dispatchInput) ?? false })
}

/** A run of the same workflow and branch that began after this one: by its id, since times have whole seconds. */
async function newerRun(
  { github }: RepositoryContext,
  run: WorkflowRun,
  instance: Instance,
): Promise<Result<RedispatchFacts['newerRun']>> {
  if (run.headBranch === null) return success(null)
  const runs = await github.workflowRuns(run.workflowId, run.headBranch)
  if (!runs.ok) return runs
  const newer = runs.value.find(other => other.id > run.id && other.event === instance.event)
  return success(newer === undefined ? null : { id: newer.id, url: newer.url })
}

/** Display names of the workflow run's jobs that are resolved pauses of ours and wait to go on. */
function resolvedPauses({ store }: RepositoryContext, workflowRun: number): Set<string> {
  const names = new Set<string>()
  for (const row of waitingRows({ store }, workflowRun)) {
    const instance = row.run === null ? null : store.record(row.run)?.instance
    if (instance) names.add(instance.job)
  }
  return names
}

/** Rows of one workflow run whose re-dispatch is still to come. */
export function waitingRows({ store }: Pick<RepositoryContext, 'store'>, workflowRun: number): OutboxRow[] {
  return store.outboxRows({ state: 'due', limit: 1000 }).filter(row => {
    if (row.kind !== 'redispatch' || row.run === null || 'started' in row.payload) return false
    return store.record(row.run)?.instance?.workflowRunId === workflowRun
  })
}

function isRef(ref: string): boolean {
  return ref.startsWith('refs/heads/') || ref.startsWith('refs/tags/')
}

function firstFailure(results: Result<unknown>[]): Failure | null {
  return results.find(result => !result.ok) ?? null
}
