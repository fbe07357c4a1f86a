import { digest } from '../../policy/canonical.ts'
import type { Json } from '../../policy/json.ts'
import type { CommandOf } from '../commands.ts'
import type { Context } from '../context.ts'
import type { Batch } from '../port.ts'
import { readByInstance } from '../read/runs.ts'
import { isEnded } from '../transitions.ts'
import type { LeaseHolder, Reservation } from '../types.ts'
import { cell, payloadDigest } from '../values.ts'
import { RunChange, readRunRow, refused } from './change.ts'
import { setHostFloor } from './host-floor.ts'
import { leaseEnd } from './lease.ts'
import { setMemory } from './memory.ts'
import { takeReservation } from './reserve.ts'

/** Creates a run with all its tasks, and its lease; a reserved run takes instance, settings and requesters from there. */
export function createRun(
  context: Context,
  batch: Batch,
  command: CommandOf<'run.create'>,
  actor: string,
  holder: LeaseHolder | undefined,
): RunChange {
  const { run } = batch
  if (readRunRow(context, run) !== null)
    throw refused('conflict', `Run ${run} exists; resume it instead of creating it.`)
  const reservation = takeReservation(context, run, batch.epoch)
  if (reservation !== null) refuseSecondRun(context, reservation)
  else if (batch.epoch !== 1) throw refused('stale_epoch', `A new run begins at epoch 1, not at ${batch.epoch}.`)
  const owner = reservation === null ? holder : jobOf(reservation)
  if (owner === undefined) throw refused('not_found', `Run ${run} is not reserved in this ledger. Attach again.`)

  const change = new RunChange(context, run, actor, {
    state: 'running',
    epoch: batch.epoch,
    holder: owner,
    leaseExpiresAt: null,
    cancelRequested: false,
    pause: null,
    hasInstance: reservation !== null,
  })
  const settings = reservation?.settings ?? command.settings
  insertRun(change, command, reservation)
  setHostFloor(change, command.hostFloor)
  insertTasks(change, command.tasks)
  setMemory(change, command.memory)
  change.append('run.created', `run/${run}`, {
    workflowName: command.workflowName,
    document: command.document,
    workflowDigest: command.workflowDigest,
    planDigest: command.planDigest,
    floorDigest: command.floorDigest,
    ...(command.hostFloor !== undefined && { hostFloor: command.hostFloor }),
    plan: payloadDigest(command.plan),
    commit: command.commit,
    parent: reservation?.parent ?? command.parent,
    instance: reservation?.instance ?? null,
    requesters: reservation?.requesters ?? [],
    settings: digest(settings as unknown as Json),
    resumeWith: command.resumeWith,
    epoch: batch.epoch,
    holder: owner,
  })
  const createdSeq = change.checkpoint()
  change.sql.run('UPDATE runs SET created_seq = ? WHERE run = ?', createdSeq, run)
  return change
}

function refuseSecondRun(context: Context, reservation: Reservation): void {
  const current = readByInstance(context, reservation.instance.key)
  if (current === null || (isEnded(current.state) && current.state !== 'uncertain')) return
  throw refused(
    'conflict',
    `The instance ${reservation.instance.key} has run ${current.run}, which is ${current.state}; a second run beside it is refused.`,
  )
}

function jobOf(reservation: Reservation): LeaseHolder {
  const { workflowRunId, attempt } = reservation.instance
  return { kind: 'job', workflowRunId, attempt }
}

function insertRun(change: RunChange, command: CommandOf<'run.create'>, reservation: Reservation | null): void {
  const { row, now } = change
  change.sql.run(
    `INSERT INTO runs (run, state, epoch, holder, lease_expires_at, cancel_requested, pause, workflow_name, document,
       workflow_digest, plan_digest, floor_digest, sha, head, actor, parent, resume_with, instance_key, created_seq,
       created_at, settings, requesters, instance, plan)
     VALUES (?, ?, ?, ?, ?, 0, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?)`,
    change.run,
    row.state,
    row.epoch,
    JSON.stringify(row.holder),
    leaseEnd(change.context.clock.now().toISOString()),
    command.workflowName,
    command.document,
    command.workflowDigest,
    command.planDigest,
    command.floorDigest,
    command.commit.sha,
    command.commit.head,
    reservation?.instance.actor ?? null,
    reservation?.parent ?? command.parent,
    command.resumeWith,
    reservation?.instance.key ?? null,
    now,
    cell(reservation?.settings ?? command.settings, 'approval settings'),
    cell(reservation?.requesters ?? [], 'requesters'),
    reservation === null ? null : cell(reservation.instance, 'instance'),
    change.payloadCell(command.plan, 'plan'),
  )
}

function insertTasks(change: RunChange, tasks: CommandOf<'run.create'>['tasks']): void {
  // Some hundred tasks a statement: a value has at most a megabyte.
  for (let start = 0; start < tasks.length; start += 200) {
    change.sql.run(
      `INSERT INTO tasks (run, task, position, state, attempt, failure, needs)
       SELECT ?, value ->> 'id', ? + key, 'pending', 1, value ->> 'failure', value -> 'needs' FROM json_each(?)`,
      change.run,
      start,
      JSON.stringify(tasks.slice(start, start + 200)),
    )
  }
}
