import type { TaskState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import { add } from '../outbox.ts'
import type { Payload } from '../payload.ts'
import { readFormer } from '../read/former.ts'
import { Cells } from '../sql/cells.ts'
import { endOfRun, isAtLeast, isTerminalTask } from '../transitions.ts'
import { payloadDigest } from '../values.ts'
import { collectedEnd } from './aggregate.ts'
import { type RunChange, refused } from './change.ts'
import { asEffectRow } from './effect.ts'
import { StoredPlan } from './stored-plan.ts'
import { setTask, type TaskRow } from './task.ts'

type End = CommandOf<'run.finish'>['to']

/** The runner's end of a run. What has not run will not: it is cancelled, save in an uncertain run, which may go on. */
export function finishRun(change: RunChange, command: CommandOf<'run.finish'>): void {
  refuseStarted(change)
  if (command.to !== 'uncertain') {
    if (command.to === 'succeeded') refuseUnfinished(change)
    closeRest(change, 'the run ended')
  }
  const tasks = tasksOf(change)
  const least = endByNow(change, tasks)
  // What is undone ends as it had: only what became of an undoing that nobody saw end makes it graver.
  const isUndone = tasks.some(({ isCompensation }) => isCompensation)
  const isFitting = isUndone ? command.to === least || command.to === 'uncertain' : isAtLeast(command.to, least)
  if (!isFitting) {
    throw refused('conflict', `Run ${change.run} cannot end as ${command.to}: by its tasks it is ${least}.`)
  }
  endRun(change, command.to, command.outputs)
}

/** How the run ends by its tasks as they stand, or as it had ended before it was opened to be undone. */
export function endByNow(change: RunChange, tasks: readonly TaskOfRun[]): End {
  const isUndone = tasks.some(({ isCompensation }) => isCompensation)
  const states = tasks.map(({ row, isCompensation }) => ({ state: row.state, isCompensation }))
  return endOfRun(states, isUndone ? readFormer(change.context, change.run) : null)
}

/** A run neither ends nor pauses while it is not known what becomes of an effect. */
export function refuseStarted(change: RunChange): void {
  const [started] = change.sql.all(
    "SELECT effect, task FROM effects WHERE run = ? AND state = 'started' LIMIT 1",
    change.run,
  )
  if (started === undefined) return
  const cells = new Cells(started)
  throw refused(
    'conflict',
    `Effect ${cells.text()} of task ${cells.text()} is started; finish it first, as uncertain if need be.`,
  )
}

function refuseUnfinished(change: RunChange): void {
  const open = tasksOf(change).find(task => !isTerminalTask(task.row.state))
  if (open === undefined) return
  throw refused('conflict', `Run ${change.run} cannot succeed: task ${open.task} is ${open.row.state}.`)
}

/** Ends the run: state, lease, event, checkpoint, follow-up, in the transaction of what ended it. */
export function endRun(change: RunChange, to: End, outputs: Payload | null): void {
  change.moveRun(to)
  change.sql.run(
    'UPDATE runs SET outputs = ?, ended_at = ?, pause = NULL WHERE run = ?',
    change.payloadCellOrNull(outputs, 'outputs'),
    change.now,
    change.run,
  )
  change.row = { ...change.row, pause: null }
  change.releaseLease()
  change.append('run.finished', `run/${change.run}`, { to, outputs: outputs === null ? null : payloadDigest(outputs) })
  change.checkpoint()
  if (!change.row.hasInstance) return
  const payload = { run: change.run, state: to }
  add(change.context, {
    id: `run-ended:${change.run}:${change.chain.seq}`,
    run: change.run,
    kind: 'run-ended',
    payload,
  })
}

/** Cancels every task and effect that has not come to an end; what collects results ends as they did. */
export function closeRest(change: RunChange, why: string): void {
  const plan = new StoredPlan(change)
  const cancelled = { to: 'cancelled', error: { code: 'cancelled', message: why }, output: null } as const
  // In plan order: what is collected has ended before what collects it.
  for (const { task, row } of tasksOf(change)) {
    if (isTerminalTask(row.state)) continue
    const { to, error, output } = collectedEnd(change, plan, task) ?? cancelled
    setTask(change, task, row, to, error ?? cancelled.error, output)
  }
  const rows = change.sql.all(
    `SELECT effect, task, state, binding_digest, asked, approval FROM effects
     WHERE run = ? AND state IN ('requested', 'waiting_for_approval') ORDER BY effect`,
    change.run,
  )
  for (const row of rows) closeEffect(change, asEffectRow(new Cells(row)).effect, 'cancelled', 'run_ended')
}

/** An effect that will not run. */
export function closeEffect(
  change: RunChange,
  effect: string,
  to: 'denied' | 'cancelled',
  cause: 'rejected' | 'expired' | 'cancelled' | 'run_ended',
): void {
  change.sql.run(
    'UPDATE effects SET state = ?, denial = ?, finished_at = ? WHERE run = ? AND effect = ?',
    to,
    cause === 'rejected' || cause === 'expired' ? cause : null,
    change.now,
    change.run,
    effect,
  )
  change.append('effect.closed', `effect/${effect}`, { to, cause })
}

export interface TaskOfRun {
  task: string
  needs: string[]
  row: TaskRow
  /** Whether it undoes another task. */
  isCompensation: boolean
}

/** Tasks in plan order. */
export function tasksOf(change: RunChange): TaskOfRun[] {
  const rows = change.sql.all(
    'SELECT task, needs, state, attempt, failure, compensates IS NOT NULL FROM tasks WHERE run = ? ORDER BY position',
    change.run,
  )
  return rows.map(found => {
    const cells = new Cells(found)
    const task = cells.text()
    const needs = cells.json<string[]>()
    const state = cells.text() as TaskState
    const row = { state, attempt: cells.int(), failure: cells.text() as TaskRow['failure'] }
    return { task, needs, row, isCompensation: cells.flag() }
  })
}
