import type { Requester } from '../commands.ts'
import type { Context } from '../context.ts'
import { readByInstance } from '../read/runs.ts'
import { Cells } from '../sql/cells.ts'
import { isEnded } from '../transitions.ts'
import type { Reservation } from '../types.ts'
import { cell } from '../values.ts'
import { refused } from './change.ts'

/** An unused run id for an instance; the run exists from its first batch. */
export function reserveRun(context: Context, reservation: Reservation): { run: string; epoch: number } {
  const { sql } = context
  const { instance } = reservation
  return sql.transaction(() => {
    const current = readByInstance(context, instance.key)
    if (current !== null && (!isEnded(current.state) || current.state === 'uncertain')) {
      throw refused(
        'conflict',
        `The instance ${instance.key} has run ${current.run}, which is ${current.state}; a second run beside it is refused.`,
      )
    }
    const [known] = sql.all('SELECT run, epoch, requesters FROM reservations WHERE instance_key = ?', instance.key)
    const cells = known === undefined ? null : new Cells(known)
    const run = cells === null ? context.ids.uuid() : cells.text()
    const epoch = cells === null ? 1 : cells.int() + 1
    const before = cells === null ? [] : cells.json<Requester[]>()
    sql.run(
      `INSERT INTO reservations (run, instance_key, epoch, parent, instance, settings, requesters) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch, parent = excluded.parent, instance = excluded.instance,
       settings = excluded.settings, requesters = excluded.requesters`,
      run,
      instance.key,
      epoch,
      reservation.parent,
      cell(instance, 'instance'),
      cell(reservation.settings, 'approval settings'),
      cell(mergeRequesters(before, reservation.requesters), 'requesters'),
    )
    return { run, epoch }
  })
}

/** The reservation of a run, used up by the run's first batch. */
export function takeReservation(context: Context, run: string, epoch: number): Reservation | null {
  const [row] = context.sql.all(
    'SELECT epoch, parent, instance, settings, requesters FROM reservations WHERE run = ?',
    run,
  )
  if (row === undefined) return null
  const cells = new Cells(row)
  const reserved = cells.int()
  if (reserved !== epoch) {
    throw refused(
      'stale_epoch',
      `Run ${run} was reserved again at epoch ${reserved}; this job, at ${epoch}, was replaced. Stop.`,
    )
  }
  context.sql.run('DELETE FROM reservations WHERE run = ?', run)
  return { parent: cells.textOrNull(), instance: cells.json(), settings: cells.json(), requesters: cells.json() }
}

/** The set only grows; a person's first role and login stay. */
export function mergeRequesters(before: readonly Requester[], more: readonly Requester[]): Requester[] {
  const byId = new Map(before.map(requester => [requester.id, requester]))
  for (const requester of more) if (!byId.has(requester.id)) byId.set(requester.id, requester)
  return [...byId.values()]
}
