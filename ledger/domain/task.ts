import { digest } from '../../policy/canonical.ts'
import type { TaskState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import type { Payload } from '../payload.ts'
import { Cells } from '../sql/cells.ts'
import { isTerminalTask, mayMoveTask } from '../transitions.ts'
import { cell, payloadDigest } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { followCompensation } from './compensation.ts'
import { setMemory } from './memory.ts'

export interface TaskRow {
  state: TaskState
  attempt: number
  failure: 'stop' | 'continue'
}

/** Where a task stands. Throws not_found. */
export function taskRow(change: RunChange, task: string): TaskRow {
  const [row] = change.sql.all('SELECT state, attempt, failure FROM tasks WHERE run = ? AND task = ?', change.run, task)
  if (row === undefined) throw refused('not_found', `Run ${change.run} has no task ${task}.`)
  const cells = new Cells(row)
  return { state: cells.text() as TaskState, attempt: cells.int(), failure: cells.text() as TaskRow['failure'] }
}

/** A runner's move of a task. To the state that it is in: nothing changes, unless a new attempt begins. */
export function moveTask(change: RunChange, command: CommandOf<'task.move'>): void {
  const { task, to, attempt } = command
  const row = taskRow(change, task)
  const isRetry = attempt === row.attempt + 1 && (to === 'pending' || to === 'running') && row.state !== 'pending'
  if (attempt !== row.attempt && !isRetry) {
    throw refused(
      'conflict',
      `Task ${task} is at attempt ${row.attempt}; it cannot become ${to} at attempt ${attempt}.`,
    )
  }
  if (row.state === to && !isRetry && !isTerminalTask(to)) return
  if (!mayMoveTask(row.state, to) && !(isRetry && row.state === to)) {
    throw refused('conflict', `Task ${task} is ${row.state} and cannot become ${to}.`)
  }
  writeTask(change, command, row.state)
  if (command.memory !== null) setMemory(change, command.memory)
  if (to === 'succeeded') followCompensation(change, task)
}

function writeTask(change: RunChange, command: CommandOf<'task.move'>, from: TaskState): void {
  const { task, to, attempt, output, error, condition, memory } = command
  const isOver = isTerminalTask(to)
  change.sql.run(
    `UPDATE tasks SET state = ?, attempt = ?, output = ?, error = ?, condition = coalesce(?, condition),
       started_at = CASE WHEN ? THEN NULL ELSE coalesce(started_at, ?) END, ended_at = ? WHERE run = ? AND task = ?`,
    to,
    attempt,
    change.payloadCellOrNull(output, 'task output'),
    error === null ? null : cell(error, 'task error'),
    condition === null ? null : cell(condition, 'condition'),
    to === 'pending' || to === 'waiting' || to === 'skipped' ? 1 : 0,
    change.now,
    isOver ? change.now : null,
    change.run,
    task,
  )
  change.append('task.moved', `task/${task}`, {
    task,
    from,
    to,
    attempt,
    output: output === null ? null : payloadDigest(output),
    error,
    condition,
    memory: memory === null ? null : digest(memory),
  })
}

/** A move that the ledger itself makes: a resolution, a reconciliation, the end of the run. */
export function setTask(
  change: RunChange,
  task: string,
  row: TaskRow,
  to: TaskState,
  error: { code: string; message: string } | null,
  output: Payload | null = null,
): void {
  const command = { id: '', type: 'task.move', task, attempt: row.attempt, to, output, error } as const
  writeTask(change, { ...command, condition: null, memory: null }, row.state)
}
