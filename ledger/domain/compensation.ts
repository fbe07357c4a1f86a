import type { Person } from '../../policy/approval/record.ts'
import type { EffectState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import { add } from '../outbox.ts'
import { readByInstance, readRun } from '../read/runs.ts'
import { Cells } from '../sql/cells.ts'
import { isTerminalTask, mayReconcileEffect, mayReopenRun } from '../transitions.ts'
import { cell } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { tasksOf } from './finish.ts'
import { addRequesters } from './note.ts'
import { type TaskRow, taskRow } from './task.ts'

type Tasks = CommandOf<'compensation.begin'>['tasks']

/** The runner's word, before a run that failed ends: what succeeded is undone first. */
export function beginCompensation(change: RunChange, command: CommandOf<'compensation.begin'>): void {
  const open = tasksOf(change).find(({ row }) => !isTerminalTask(row.state))
  if (open !== undefined)
    throw refused(
      'conflict',
      `Task ${open.task} of run ${change.run} is ${open.row.state}; compensation comes after it.`,
    )
  addTasks(change, command.tasks, null, 'the run failed')
}

/** A person's word on a run that has ended: it opens for its compensations, and nothing else of it runs again. */
export function compensateRun(change: RunChange, command: CommandOf<'run.compensate'>): void {
  const { row, run } = change
  if (!mayReopenRun(row.state)) {
    const remedy =
      row.state === 'uncertain'
        ? 'Reconcile its uncertain effects first.'
        : row.state === 'succeeded'
          ? 'What succeeded as a whole is not compensated.'
          : 'Resume or cancel it first.'
    throw refused('conflict', `Run ${run} is ${row.state}; a failed, denied or cancelled run is compensated. ${remedy}`)
  }
  refuseSuperseded(change)
  change.reopen()
  addTasks(change, command.tasks, { from: row.state, person: command.person }, command.reason)
  const { id, login } = command.person
  // Who asks for it has caused what it asks about.
  if (id !== null) addRequesters(change, [{ id, login, role: 'compensation' }])
  if (row.hasInstance) {
    const { seq } = change.chain
    add(change.context, { id: `redispatch:compensate:${run}:${seq}`, run, kind: 'redispatch', payload: { run } })
  }
  change.checkpoint()
}

/** A job takes the latest run of its place: an earlier one would never be gone on with. */
function refuseSuperseded(change: RunChange): void {
  const instance = readRun(change.context, change.run)?.instance ?? null
  const latest = instance === null ? null : readByInstance(change.context, instance.key)
  if (latest === null || latest.run === change.run) return
  throw refused(
    'conflict',
    `Run ${change.run} was followed by run ${latest.run} of the same job; only the latest is compensated there. Undo it by hand.`,
  )
}

function addTasks(
  change: RunChange,
  tasks: Tasks,
  asked: { from: RunChange['row']['state']; person: Person } | null,
  reason: string,
): void {
  const from = asked?.from ?? change.row.state
  let position = lastPosition(change)
  for (const { id, compensates, needs } of tasks) {
    const subject = taskRow(change, compensates)
    refuseDone(change, compensates, subject)
    position += 1
    const added = change.sql.all(
      `INSERT INTO tasks (run, task, position, state, attempt, failure, needs, compensates)
       VALUES (?, ?, ?, 'pending', 1, 'stop', ?, ?) ON CONFLICT DO NOTHING RETURNING 1`,
      change.run,
      id,
      position,
      cell(needs, 'needs'),
      compensates,
    )
    if (added.length === 0) throw refused('conflict', `Run ${change.run} has a task ${id} already.`)
  }
  change.append('run.compensating', `run/${change.run}`, {
    from,
    tasks: tasks.map(({ id, compensates }) => ({ task: id, compensates })),
    person: asked?.person ?? null,
    reason,
  })
}

/** Whether what the run did is being undone: compensations have become tasks of it. */
export function isCompensating(change: RunChange): boolean {
  const rows = change.sql.all('SELECT 1 FROM tasks WHERE run = ? AND compensates IS NOT NULL LIMIT 1', change.run)
  return rows.length > 0
}

function lastPosition(change: RunChange): number {
  const [row] = change.sql.all('SELECT max(position) FROM tasks WHERE run = ?', change.run)
  return row === undefined ? 0 : new Cells(row).int()
}

/** Only what succeeded is undone, and only once: one whose compensation has not come to a clear end is not repeated. */
function refuseDone(change: RunChange, task: string, { state }: TaskRow): void {
  if (state !== 'succeeded')
    throw refused('conflict', `Task ${task} of run ${change.run} is ${state}; only what succeeded is compensated.`)
  const again = change.sql.all(
    "SELECT 1 FROM tasks WHERE run = ? AND compensates = ? AND state NOT IN ('failed', 'denied', 'cancelled') LIMIT 1",
    change.run,
    task,
  )
  if (again.length > 0)
    throw refused('conflict', `Task ${task} of run ${change.run} is compensated or being compensated already.`)
}

/** Once a compensation has succeeded, what it undid says so; a task that compensates nothing leaves all as it is. */
export function followCompensation(change: RunChange, task: string): void {
  const [found] = change.sql.all('SELECT compensates FROM tasks WHERE run = ? AND task = ?', change.run, task)
  const compensates = found === undefined ? null : new Cells(found).textOrNull()
  if (compensates === null) return
  const rows = change.sql.all(
    "SELECT effect, state, reconciliations FROM effects WHERE run = ? AND task = ? AND state = 'succeeded' ORDER BY n",
    change.run,
    compensates,
  )
  for (const row of rows) {
    const cells = new Cells(row)
    const effect = cells.text()
    if (mayReconcileEffect(cells.text() as EffectState, 'failed')) compensateEffect(change, effect, cells.json(), task)
  }
}

function compensateEffect(change: RunChange, effect: string, past: object[], by: string): void {
  const reason = `task ${by} has undone it`
  change.sql.run(
    "UPDATE effects SET state = 'failed', error = ?, reconciliations = ? WHERE run = ? AND effect = ?",
    cell({ code: 'compensated', message: reason }, 'error'),
    cell([...past, { status: 'compensated', reason, at: change.now, actor: change.actor }], 'reconciliations'),
    change.run,
    effect,
  )
  change.append('effect.compensated', `effect/${effect}`, { by, to: 'failed' })
}
