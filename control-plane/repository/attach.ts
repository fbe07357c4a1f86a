import type { LedgerStore } from '../../ledger/index.ts'
import type { Instance, Requester, RunRecord } from '../../ledger/port.ts'
import type { AttachAnswer } from '../../ledger/wire.ts'
import type { ApprovalSettings } from '../../policy/approval/record.ts'
import { problem } from '../problem.ts'
import { type Asking, currentRun, type RunStore, wasDispatched } from './current-run.ts'
import type { LeaseMarks } from './marks.ts'
import { confirmedBefore, recordedEnd } from './recorded.ts'

/** The lasting parts of a repository that the attempt table reads and writes. */
export interface AttachStore extends RunStore {
  marks: LeaseMarks
}

/** What the attempt table is asked with; all of it already verified. */
export interface Attachment extends Asking {
  settings: ApprovalSettings
  requesters: Requester[]
}

/** A row of the attempt table (04): which run, and whether this job may work on it. */
export type Attached = Pick<AttachAnswer, 'outcome' | 'run' | 'epoch' | 'parent' | 'recorded'> & {
  /** The run's instance: the one that the lease token is bound to. */
  instance: string
  settings: ApprovalSettings
  /** Whether a lease token is due: with the lease, or to open the issue that an earlier attempt did not register. */
  token: boolean
}

/**
 * The attempt table of 04, synchronous: between what it reads and what it writes nothing else can happen to this ledger.
 * Throws ProblemError and LedgerError.
 */
export function attach(at: AttachStore, attachment: Attachment): Attached {
  const current = currentRun(at, attachment)
  if (attachment.request.settling === true) return settle(at, attachment, current)
  if (!isFirstStep(at, attachment, current)) {
    if (current?.state === 'running') refuseOtherHolder(at.store, current, attachment.instance)
    throw secondStep(attachment, current)
  }
  if (current === null || current.state === 'failed') return newRun(at, attachment, current)
  switch (current.state) {
    case 'succeeded':
    case 'denied':
    case 'cancelled':
      return ended(at, current, 'ended')
    case 'uncertain':
      return ended(at, current, 'uncertain')
    case 'paused':
      refuseStranger(at, current, attachment)
      return isPending(at, current) ? pending(at, current, attachment) : resume(at, current, attachment)
    case 'running':
      refuseStranger(at, current, attachment)
      return resume(at, current, attachment)
  }
}

/**
 * Whether this process is the only one that asks for the instance in this job attempt. Another is a step of the same place,
 * as two steps of one composite action are (both have its GITHUB_ACTION): it must not get the first's result. A runner
 * starts no step twice within an attempt, and who repeats an attach whose answer was lost says so by its `asker`.
 */
function isFirstStep({ marks }: AttachStore, { request, instance }: Attachment, current: RunRecord | null): boolean {
  const { key, workflowRunId, attempt } = instance
  if (request.asker !== undefined) return marks.firstAsker(key, workflowRunId, attempt, request.asker) === request.asker
  if (current === null || current.state === 'running') return true
  return current.instance?.workflowRunId !== workflowRunId || current.instance.attempt !== attempt
}

function secondStep({ instance }: Attachment, current: RunRecord | null): Error {
  const place = `job ${instance.job}, step ${instance.step}, document ${instance.document}`
  const had = current === null ? 'asks for this place too' : `has had run ${current.run}`
  const remedy = 'use agentctl once in a composite action for each document, or give the steps to the job itself'
  return problem(409, 'conflict', `another step of this job attempt ${had} (${place}): ${remedy}`)
}

/** What the post step of an attempt finds: the lease of what its main left running, its pause, or a recorded end. */
function settle(at: AttachStore, attachment: Attachment, current: RunRecord | null): Attached {
  if (current === null) throw nothingToSettle('this instance has no run: its main began none')
  if (!isOfMain(at, attachment))
    throw nothingToSettle(`run ${current.run} is of another step: this one's main began none`)
  switch (current.state) {
    case 'running':
      refuseStranger(at, current, attachment)
      return resume(at, current, attachment)
    case 'paused':
      refuseStranger(at, current, attachment)
      // One that is decided waits for its own resume, which the lease would take for begun.
      return isPending(at, current) ? pending(at, current, attachment) : ended(at, current, 'ended')
    case 'uncertain':
      return ended(at, current, 'uncertain')
    default:
      return ended(at, current, 'ended')
  }
}

/** Whether the post step names the main that was the first to ask here: no other step's run is its own. */
function isOfMain({ marks }: AttachStore, { request: { asker }, instance }: Attachment): boolean {
  const { key, workflowRunId, attempt } = instance
  return asker !== undefined && marks.firstAsker(key, workflowRunId, attempt, asker) === asker
}

const nothingToSettle = (why: string): Error => problem(422, 'nothing_to_settle', why)

/** The lease goes only to the recorded workflow at the recorded commit, in the recorded workflow run or our dispatch. */
function refuseStranger({ store, names }: AttachStore, record: RunRecord, { instance }: Attachment): void {
  const { run, instance: recorded } = record
  if (recorded === null) throw problem(409, 'conflict', `run ${run} was not begun by a job: it cannot be attached to`)
  if (names.ownWorkflow(recorded.workflowRef) !== names.ownWorkflow(instance.workflowRef)) {
    throw problem(403, 'workflow_mismatch', `run ${run} began in ${recorded.workflowRef}, not ${instance.workflowRef}`)
  }
  if (recorded.sha !== instance.sha) {
    throw problem(
      403,
      'commit_mismatch',
      `run ${run} is of commit ${recorded.sha}, not ${instance.sha}: start a new run`,
    )
  }
  const isSameRun = recorded.workflowRunId === instance.workflowRunId
  if (isSameRun ? instance.attempt >= recorded.attempt : wasDispatched(store, record, instance.workflowRunId)) return
  const where = `attempt ${recorded.attempt} of workflow run ${recorded.workflowRunId}`
  throw problem(409, 'lease_held', `run ${run} has gone on in ${where}: only a later attempt of that one may take it`)
}

function isPending({ store }: AttachStore, { pause }: RunRecord): boolean {
  return pause !== null && store.pause(pause)?.state === 'open'
}

function newRun({ store }: AttachStore, attachment: Attachment, failed: RunRecord | null): Attached {
  const { instance, requesters, settings } = attachment
  const { run, epoch } = store.reserve({ instance, settings, requesters, parent: failed?.run ?? null })
  const parent = failed === null ? null : { run: failed.run, confirmed: confirmedBefore(store, failed) }
  return { outcome: 'new', run, epoch, parent, recorded: null, instance: instance.key, settings, token: true }
}

function resume(
  { store, marks }: AttachStore,
  current: RunRecord,
  { instance, requesters, request }: Attachment,
): Attached {
  const own = isOwnLease(store, current, instance)
  const retake = own && (request.settling === true || isUntouched({ store, marks }, current))
  if (!retake) refuseOtherHolder(store, current, instance)
  // The key stays the one that the run began with, so that a later attempt of its first workflow run finds it too.
  const key = current.instance?.key ?? instance.key
  const holder = { kind: 'job', workflowRunId: instance.workflowRunId, attempt: instance.attempt } as const
  const told = request.hostFloor === undefined ? {} : { hostFloor: request.hostFloor }
  const rules = { instance: { ...instance, key }, requesters, retake, ...told }
  const { epoch, taken } = store.acquire(current.run, holder, actorOf(instance), rules)
  if (!taken) throw problem(409, 'conflict', `run ${current.run} has changed meanwhile: attach again`)
  marks.keep(current.run, epoch, store.head(`run/${current.run}`))
  const record = store.record(current.run) ?? current
  return {
    outcome: 'resume',
    run: current.run,
    epoch,
    parent: parentOf(store, current),
    recorded: recordedEnd(store, record),
    instance: key,
    settings: record.settings,
    token: true,
  }
}

/** Whether the attempt that asks is the one that holds the lease. */
function isOwnLease(store: LedgerStore, { run }: RunRecord, instance: Instance): boolean {
  const holder = store.lease(run)?.holder
  if (holder?.kind !== 'job') return false
  return holder.workflowRunId === instance.workflowRunId && holder.attempt === instance.attempt
}

/** Whether the holder of the lease has written nothing yet: the answer that gave it the lease may have been lost. */
function isUntouched({ store, marks }: Pick<AttachStore, 'store' | 'marks'>, { run, epoch }: RunRecord): boolean {
  return marks.isUntouched(run, epoch, store.head(`run/${run}`))
}

/**
 * A lease that is held goes over only to a later attempt of the same workflow run, which GitHub starts after the earlier
 * one has ended. (Our own dispatch follows a pause, which gave the lease back.) Even an expired one does not go to anybody
 * else: what its holder had started may still be running.
 */
function refuseOtherHolder(store: LedgerStore, { run }: RunRecord, instance: Instance): void {
  const lease = store.lease(run)
  if (lease === null) return
  const { holder } = lease
  const isJob = holder.kind === 'job'
  if (isJob && holder.workflowRunId === instance.workflowRunId && holder.attempt < instance.attempt) return
  const named = isJob ? `attempt ${holder.attempt} of workflow run ${holder.workflowRunId}` : `process ${holder.pid}`
  throw problem(
    409,
    'lease_held',
    `run ${run} is held by ${named} (epoch ${lease.epoch}): wait until it ends, or re-run it`,
  )
}

function pending({ store }: AttachStore, current: RunRecord, { requesters, instance }: Attachment): Attached {
  const recorded = recordedEnd(store, current)
  return {
    outcome: 'pending',
    run: current.run,
    epoch: current.epoch,
    parent: null,
    recorded,
    instance: current.instance?.key ?? instance.key,
    settings: addRequesters(store, current, requesters, actorOf(instance)).settings,
    token: recorded.issue === null,
  }
}

/** Requesters only grow; who starts an attempt of a waiting run becomes one. */
function addRequesters(store: LedgerStore, current: RunRecord, requesters: Requester[], actor: string): RunRecord {
  const known = new Set(current.requesters.map(({ id }) => id))
  const fresh = requesters.filter(({ id }) => !known.has(id))
  if (fresh.length === 0) return current
  const id = `requesters ${current.run.slice(0, 36)} ${fresh.map(({ id }) => id).join(' ')}`.slice(0, 64)
  store.control({ run: current.run, commands: [{ id, type: 'requesters.add', requesters: fresh }] }, actor)
  return store.record(current.run) ?? current
}

function ended({ store }: AttachStore, current: RunRecord, outcome: 'ended' | 'uncertain'): Attached {
  return {
    outcome,
    run: current.run,
    epoch: current.epoch,
    parent: null,
    recorded: recordedEnd(store, current),
    instance: current.instance?.key ?? '',
    settings: current.settings,
    token: false,
  }
}

function parentOf(store: LedgerStore, { parent }: RunRecord): Attached['parent'] {
  const failed = parent === null ? null : store.record(parent)
  return failed === null ? null : { run: failed.run, confirmed: confirmedBefore(store, failed) }
}

/** Actor of what a job attempt writes. */
export const actorOf = ({ workflowRunId, attempt }: { workflowRunId: number; attempt: number }): string =>
  `job:${workflowRunId}/${attempt}`
