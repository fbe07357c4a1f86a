import type { EffectState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import type { EffectRecord } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import { mayReconcileEffect, mayReconcileTask } from '../transitions.ts'
import { cell, payloadDigest } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { followCompensation } from './compensation.ts'
import { taskRow } from './task.ts'

type Status = CommandOf<'effect.reconcile'>['status']

interface Subject {
  effect: string
  task: string
  state: EffectState
  past: EffectRecord['reconciliations']
}

/**
 * A person's word on an effect that nobody saw end. Append-only: a later word repeats the earlier one or says of an applied
 * effect that it was compensated. In a run that has not gone on since, the task follows.
 */
export function reconcileEffect(change: RunChange, command: CommandOf<'effect.reconcile'>): void {
  const subject = subjectOf(change, command.effect)
  checkRun(change)
  checkStatus(subject, command.status)
  const isRepetition = subject.past.at(-1)?.status === command.status
  const to = isRepetition ? subject.state : command.status === 'applied' ? 'succeeded' : 'failed'
  if (!isRepetition && !mayReconcileEffect(subject.state, to)) {
    throw refused('conflict', `Effect ${subject.effect} is ${subject.state}; reconciliation cannot make it ${to}.`)
  }
  writeEffect(change, command, subject, to)
  if (isRepetition) return
  const canFollow = change.row.state === 'uncertain' || change.row.state === 'paused'
  if (!canFollow) return
  moveTaskOf(change, command, subject)
  resumeWhenClear(change)
}

function subjectOf(change: RunChange, effect: string): Subject {
  const [row] = change.sql.all(
    'SELECT effect, task, state, reconciliations FROM effects WHERE run = ? AND effect = ?',
    change.run,
    effect,
  )
  if (row === undefined) throw refused('not_found', `Run ${change.run} has no effect ${effect}.`)
  const cells = new Cells(row)
  return { effect: cells.text(), task: cells.text(), state: cells.text() as EffectState, past: cells.json() }
}

function checkRun(change: RunChange): void {
  const { state, pause } = change.row
  if (state === 'running') {
    throw refused(
      'conflict',
      `Run ${change.run} is running. Resume it first if its process is gone; then its unfinished effects are recorded as uncertain.`,
    )
  }
  if (state === 'paused' && pause !== null) {
    throw refused('conflict', `Run ${change.run} waits for a decision; reconcile once it is over.`)
  }
}

function checkStatus(subject: Subject, status: Status): void {
  const last = subject.past.at(-1)?.status
  if (last === undefined) {
    if (subject.state === 'uncertain') return
    throw refused('conflict', `Effect ${subject.effect} is ${subject.state}; only an uncertain effect is reconciled.`)
  }
  if (last === status || (last === 'applied' && status === 'compensated')) return
  throw refused(
    'conflict',
    `Effect ${subject.effect} was reconciled as ${last}; it can be repeated${last === 'applied' ? ' or become compensated' : ''}, not become ${status}.`,
  )
}

function writeEffect(
  change: RunChange,
  command: CommandOf<'effect.reconcile'>,
  subject: Subject,
  to: EffectState,
): void {
  const { status, reason, evidence, result, person } = command
  const past = [...subject.past, { status, reason, at: change.now, actor: change.actor }]
  const error =
    to === 'failed' ? { code: status === 'compensated' ? 'compensated' : 'not_applied', message: reason } : null
  change.payloadCell(evidence, 'evidence')
  change.sql.run(
    'UPDATE effects SET state = ?, error = ?, result = coalesce(?, result), reconciliations = ? WHERE run = ? AND effect = ?',
    to,
    error === null ? null : cell(error, 'error'),
    change.payloadCellOrNull(result, 'result'),
    cell(past, 'reconciliations'),
    change.run,
    subject.effect,
  )
  change.append('effect.reconciled', `effect/${subject.effect}`, {
    status,
    reason,
    evidence: payloadDigest(evidence),
    result: result === null ? null : payloadDigest(result),
    person,
    to,
  })
}

function moveTaskOf(change: RunChange, command: CommandOf<'effect.reconcile'>, subject: Subject): void {
  const row = taskRow(change, subject.task)
  const isApplied = command.status === 'applied'
  const to = isApplied ? 'succeeded' : 'pending'
  if (!mayReconcileTask(row.state, to)) return
  const attempt = isApplied ? row.attempt : row.attempt + 1
  change.sql.run(
    `UPDATE tasks SET state = ?, attempt = ?, output = ?, error = NULL, started_at = CASE WHEN ? THEN started_at END,
       ended_at = ? WHERE run = ? AND task = ?`,
    to,
    attempt,
    change.payloadCellOrNull(isApplied ? command.result : null, 'task output'),
    isApplied ? 1 : 0,
    isApplied ? change.now : null,
    change.run,
    subject.task,
  )
  change.append('task.moved', `task/${subject.task}`, {
    task: subject.task,
    from: row.state,
    to,
    attempt,
    output: isApplied && command.result !== null ? payloadDigest(command.result) : null,
    error: null,
    condition: null,
    memory: null,
  })
  if (isApplied) followCompensation(change, subject.task)
}

function resumeWhenClear(change: RunChange): void {
  if (change.row.state !== 'uncertain') return
  const left = change.sql.all("SELECT 1 FROM effects WHERE run = ? AND state = 'uncertain' LIMIT 1", change.run)
  if (left.length > 0) return
  change.moveRun('paused')
  change.sql.run('UPDATE runs SET ended_at = NULL, cancel_requested = 0 WHERE run = ?', change.run)
  change.append('run.resumable', `run/${change.run}`, { from: 'uncertain' })
  change.checkpoint()
}
