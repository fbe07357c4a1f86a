import type { EffectState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import { keepLongTerm } from '../memory/long-term.ts'
import { Cells } from '../sql/cells.ts'
import { mayMoveEffect } from '../transitions.ts'
import { cell, payloadDigest } from '../values.ts'
import { type RunChange, refused } from './change.ts'

export interface EffectRow {
  effect: string
  task: string
  state: EffectState
  bindingDigest: string
  /** The decision was that a person must decide. */
  asked: boolean
  approval: string | null
}

export function effectRow(change: RunChange, effect: string): EffectRow | null {
  const [row] = change.sql.all(
    'SELECT effect, task, state, binding_digest, asked, approval FROM effects WHERE run = ? AND effect = ?',
    change.run,
    effect,
  )
  return row === undefined ? null : asEffectRow(new Cells(row))
}

export function asEffectRow(cells: Cells): EffectRow {
  return {
    effect: cells.text(),
    task: cells.text(),
    state: cells.text() as EffectState,
    bindingDigest: cells.text(),
    asked: cells.flag(),
    approval: cells.textOrNull(),
  }
}

function known(change: RunChange, effect: string): EffectRow {
  const row = effectRow(change, effect)
  if (row === null) throw refused('not_found', `Run ${change.run} has no effect ${effect}; request it first.`)
  return row
}

/** Moves an effect along its table of transitions. */
export function checkEffectMove(row: EffectRow, to: EffectState): void {
  if (mayMoveEffect(row.state, to)) return
  throw refused('conflict', `Effect ${row.effect} of task ${row.task} is ${row.state} and cannot become ${to}.`)
}

/** The last word before the executor: decided, for this binding, and approved where a person had to. */
export function startEffect(change: RunChange, command: CommandOf<'effect.start'>): void {
  const row = known(change, command.effect)
  checkEffectMove(row, 'started')
  if (row.bindingDigest !== command.bindingDigest) {
    throw refused(
      'conflict',
      `Effect ${row.effect} of task ${row.task} was decided for another binding; request it again.`,
    )
  }
  if (row.asked) requireApproval(change, row)
  change.sql.run(
    "UPDATE effects SET state = 'started', started_at = ? WHERE run = ? AND effect = ?",
    change.now,
    change.run,
    row.effect,
  )
  change.append('effect.started', `effect/${row.effect}`, {
    bindingDigest: row.bindingDigest,
    approval: row.approval,
    epoch: change.row.epoch,
  })
}

/** The approval itself is looked at, not only the effect's word for it. */
function requireApproval(change: RunChange, row: EffectRow): void {
  const found = change.sql.all(
    `SELECT 1 FROM items WHERE approval = ? AND effect = ? AND binding_digest = ? AND resolution ->> 'outcome' = 'approved'`,
    row.approval,
    row.effect,
    row.bindingDigest,
  )
  if (found.length === 1) return
  throw refused('conflict', `Effect ${row.effect} of task ${row.task} needs an approval of this binding; it has none.`)
}

export function finishEffect(change: RunChange, command: CommandOf<'effect.finish'>): void {
  const row = known(change, command.effect)
  checkEffectMove(row, command.to)
  for (const artifact of command.artifacts) if (artifact.blob !== null) change.refer(artifact.blob)
  change.sql.run(
    `UPDATE effects SET state = ?, result = ?, error = ?, artifacts = ?, enforcement = ?, finished_at = ?
       WHERE run = ? AND effect = ?`,
    command.to,
    change.payloadCellOrNull(command.result, 'result'),
    command.error === null ? null : cell(command.error, 'error'),
    cell(command.artifacts, 'artifacts'),
    command.enforcement === undefined ? null : cell(command.enforcement, 'enforcement'),
    change.now,
    change.run,
    row.effect,
  )
  change.append('effect.finished', `effect/${row.effect}`, {
    to: command.to,
    result: command.result === null ? null : payloadDigest(command.result),
    error: command.error,
    artifacts: command.artifacts.map(({ path, mode, blob }) => ({ path, mode, sha256: blob?.sha256 ?? null })),
    ...(command.enforcement !== undefined && { enforcement: command.enforcement }),
  })
  if (command.longTerm === undefined) return
  if (command.to !== 'succeeded')
    throw refused('invalid', `Effect ${row.effect} is ${command.to}; only a successful one writes long-term memory.`)
  keepLongTerm(change, row.effect, operationOf(change, row.effect), command.longTerm)
}

function operationOf(change: RunChange, effect: string): string {
  const [row] = change.sql.all('SELECT operation FROM effects WHERE run = ? AND effect = ?', change.run, effect)
  return row === undefined ? '' : new Cells(row).text()
}
