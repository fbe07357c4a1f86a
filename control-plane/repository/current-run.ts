import type { LedgerStore, OutboxRow } from '../../ledger/index.ts'
import type { Instance, RunRecord } from '../../ledger/port.ts'
import type { AttachRequest } from '../../ledger/wire.ts'
import type { JobClaims } from '../auth/claims.ts'
import { problem } from '../problem.ts'
import type { ProvedNames } from './names.ts'

/** Where runs are looked for. */
export interface RunStore {
  store: LedgerStore
  names: ProvedNames
}

/** Who looks for its run; all of it already verified. */
export interface Asking {
  claims: JobClaims
  request: AttachRequest
  instance: Instance
}

/** The run of this instance, or the one that our own dispatch named; null where the job begins a new one. */
export function currentRun({ store, names }: RunStore, { claims, request, instance }: Asking): RunRecord | null {
  if (request.agentctlRun === null) return store.byInstance(instance.key)
  const named = store.record(request.agentctlRun)
  if (named === null || claims.event !== 'workflow_dispatch') throw notOurDispatch(request.agentctlRun, instance)
  if (!wasDispatched(store, named, instance.workflowRunId)) {
    if (!isDispatching(store, named)) throw notOurDispatch(named.run, instance)
    throw problem(503, 'dispatch_unconfirmed', 'GitHub has not yet said which run our dispatch started: try again', 1)
  }
  // Other jobs of a dispatched workflow carry the same input; their runs are their own.
  return isSamePlace(names, named, instance) ? named : store.byInstance(instance.key)
}

/** Whether GitHub returned this workflow run to our dispatch of the run. */
export function wasDispatched(store: LedgerStore, { run }: RunRecord, workflowRunId: number): boolean {
  return redispatches(store, run).some(({ payload }) => payload['dispatchedRun'] === workflowRunId)
}

/** Whether GitHub was asked to dispatch the run and its answer is still to be written down. */
function isDispatching(store: LedgerStore, { run }: RunRecord): boolean {
  return redispatches(store, run).some(({ state, payload: { started, dispatchedRun } }) => {
    const wasAsked = typeof started === 'object' && started !== null && !Array.isArray(started)
    return state === 'due' && dispatchedRun === undefined && wasAsked && started['by'] === 'workflow_dispatch'
  })
}

function redispatches(store: LedgerStore, run: string): OutboxRow[] {
  return store.outboxRows({ run, limit: 1000 }).filter(({ kind }) => kind === 'redispatch')
}

function notOurDispatch(run: string, { workflowRunId }: Instance): Error {
  const remedy = 'leave the input agentctl-run empty when starting this workflow by hand'
  return problem(403, 'not_our_dispatch', `run ${run} was not dispatched as workflow run ${workflowRunId}: ${remedy}`)
}

function isSamePlace(names: ProvedNames, { instance: recorded }: RunRecord, instance: Instance): boolean {
  if (recorded === null) return false
  return (
    recorded.job === instance.job &&
    recorded.step === instance.step &&
    recorded.document === instance.document &&
    names.ownWorkflow(recorded.workflowRef) === names.ownWorkflow(instance.workflowRef)
  )
}
