import type { Context } from '../context.ts'
import { finishOfRun } from '../outbox.ts'
import { Cells } from '../sql/cells.ts'
import type { Acquired, AcquireRules, Lease, LeaseHolder } from '../types.ts'
import { cell } from '../values.ts'
import { changeOf, type RunChange, readRunRow, refused } from './change.ts'
import { setHostFloor } from './host-floor.ts'
import { addRequesters } from './note.ts'

/** Seconds that a lease lasts without renewal; its holder renews every 20 (05, Leases). */
export const leaseSeconds = 60
const renewBelowSeconds = 40

/** When a lease taken or renewed at `now` runs out. */
export function leaseEnd(now: string): string {
  return new Date(Date.parse(now) + leaseSeconds * 1000).toISOString()
}

export function leaseOf(context: Context, run: string): Lease | null {
  const row = readRunRow(context, run)
  if (row === null || row.holder === null || row.leaseExpiresAt === null) return null
  return { holder: row.holder, epoch: row.epoch, expiresAt: row.leaseExpiresAt }
}

/**
 * Lets a batch through whose epoch is the run's. A lease that ran out and that nobody took still holds: the result of an
 * effect that ran meanwhile must not be lost. Every batch near the end of the lease renews it.
 */
export function holdLease(change: RunChange, epoch: number): void {
  const { row, run } = change
  if (row.epoch !== epoch) {
    throw refused(
      'stale_epoch',
      `Run ${run} is at epoch ${row.epoch}, the batch at ${epoch}: another holder has taken it over. Stop.`,
    )
  }
  if (row.holder === null) {
    throw refused('stale_epoch', `The lease of run ${run} was given back (the run is ${row.state}). Acquire it again.`)
  }
  const left = Date.parse(row.leaseExpiresAt ?? change.now) - change.context.clock.now().getTime()
  if (left < renewBelowSeconds * 1000) renewLease(change)
}

export function renewLease(change: RunChange): void {
  const expiresAt = leaseEnd(change.context.clock.now().toISOString())
  change.sql.run('UPDATE runs SET lease_expires_at = ? WHERE run = ?', expiresAt, change.run)
  change.row = { ...change.row, leaseExpiresAt: expiresAt }
}

export function releaseLease(change: RunChange): void {
  change.releaseLease()
  change.append('lease.released', `run/${change.run}`, { epoch: change.row.epoch })
}

/** Takes the lease of a run that can go on: one that waits for nobody and has not ended. */
export function acquireLease(
  context: Context,
  run: string,
  holder: LeaseHolder,
  actor: string,
  rules: AcquireRules,
): Acquired {
  return context.sql.transaction(() => {
    const change = changeOf(context, run, actor)
    const { row } = change
    if (!canGoOn(change)) return { epoch: row.epoch, taken: false }
    const now = context.clock.now().toISOString()
    if (row.holder !== null) {
      if (holder.kind === 'local' && isSame(row.holder, holder)) return { epoch: row.epoch, taken: true }
      if (!isFree(row.holder, row.leaseExpiresAt, holder, now, rules)) {
        throw refused(
          'lease_held',
          `Run ${run} is held by ${nameOf(row.holder)} until ${row.leaseExpiresAt}. Wait for it, or end it.`,
        )
      }
    }
    const epoch = row.epoch + 1
    const expiresAt = leaseEnd(now)
    if (row.state === 'paused') change.moveRun('running')
    change.sql.run(
      'UPDATE runs SET epoch = ?, holder = ?, lease_expires_at = ?, pause = NULL WHERE run = ?',
      epoch,
      JSON.stringify(holder),
      expiresAt,
      run,
    )
    change.row = { ...change.row, epoch, holder, leaseExpiresAt: expiresAt, pause: null }
    const told = rules.hostFloor === undefined ? {} : { hostFloor: rules.hostFloor }
    change.append('lease.acquired', `run/${run}`, { epoch, holder, from: row.holder, ...told })
    setHostFloor(change, rules.hostFloor)
    if (rules.instance !== undefined) replaceInstance(change, rules.instance)
    if (rules.requesters !== undefined) addRequesters(change, rules.requesters)
    finishOfRun(context, run, 'redispatch')
    return { epoch, taken: true }
  })
}

function canGoOn(change: RunChange): boolean {
  const { state, pause } = change.row
  if (state === 'running') return true
  if (state !== 'paused') return false
  if (pause === null) return true
  return change.sql.all('SELECT 1 FROM items WHERE pause = ? AND resolution IS NULL LIMIT 1', pause).length === 0
}

function isFree(
  held: LeaseHolder,
  expiresAt: string | null,
  asking: LeaseHolder,
  now: string,
  rules: AcquireRules,
): boolean {
  const isAlive = held.kind === 'local' ? rules.isAlive?.(held) : null
  if (typeof isAlive === 'boolean') return !isAlive
  if (expiresAt === null || expiresAt <= now) return true
  if (held.kind !== 'job' || asking.kind !== 'job') return false
  // GitHub starts a later attempt only once the earlier one has ended.
  const isAgain = rules.retake === true && held.attempt === asking.attempt
  return held.workflowRunId === asking.workflowRunId && (held.attempt < asking.attempt || isAgain)
}

function isSame(left: LeaseHolder, right: LeaseHolder): boolean {
  return nameOf(left) === nameOf(right) && namespaceOf(left) === namespaceOf(right)
}

/** Two namespaces may have a process of the same number that began at the same tick. */
function namespaceOf(holder: LeaseHolder): string | null | undefined {
  return holder.kind === 'local' ? holder.pidNamespace : null
}

/** A holder for a person. */
export function nameOf(holder: LeaseHolder): string {
  if (holder.kind === 'job') return `workflow run ${holder.workflowRunId}, attempt ${holder.attempt}`
  return `process ${holder.pid}, started at tick ${holder.startTime} of boot ${holder.bootId}`
}

function replaceInstance(change: RunChange, instance: NonNullable<AcquireRules['instance']>): void {
  const [row] = change.sql.all('SELECT instance_key FROM runs WHERE run = ?', change.run)
  const key = row === undefined ? null : new Cells(row).textOrNull()
  // Our own dispatch makes a new workflow run, hence a new key, which from then on leads to this run.
  if (key === null) throw refused('conflict', `Run ${change.run} is a local one; a job cannot take it.`)
  change.sql.run(
    'UPDATE runs SET instance = ?, instance_key = ? WHERE run = ?',
    cell(instance, 'instance'),
    instance.key,
    change.run,
  )
}
