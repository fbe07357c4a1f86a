import { effectId } from '../../policy/binding.ts'
import { digest } from '../../policy/canonical.ts'
import type { EffectState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import { Cells } from '../sql/cells.ts'
import { mayMoveEffect } from '../transitions.ts'
import { cell, payloadDigest } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { taskRow } from './task.ts'

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

export function requestEffect(change: RunChange, command: CommandOf<'effect.request'>): void {
  checkIdentity(change, command)
  if (digest(command.binding) !== command.bindingDigest) {
    throw refused('invalid', `Effect ${command.effect} names a binding digest that its binding does not have.`)
  }
  const before = effectRow(change, command.effect)
  if (before === null) insertEffect(change, command)
  else requestAgain(change, command, before)
}

function checkIdentity(change: RunChange, command: CommandOf<'effect.request'> | CommandOf<'effect.pure'>): void {
  const { effect, task, attempt, ordinal, operation, inputDigest } = command
  if (effectId({ run: change.run, task, attempt, ordinal, operation, inputDigest }) !== effect) {
    throw refused(
      'invalid',
      `${effect} is not the id of effect ${task}/${attempt}/${ordinal} (${operation}) with this input.`,
    )
  }
  const row = taskRow(change, task)
  if (row.attempt !== attempt) {
    throw refused('conflict', `Task ${task} is at attempt ${row.attempt}; an effect of attempt ${attempt} is refused.`)
  }
}

function insertEffect(change: RunChange, command: CommandOf<'effect.request'>): void {
  const { outcome } = command.decision
  const to = outcome === 'allow' ? 'requested' : outcome === 'ask' ? 'waiting_for_approval' : 'denied'
  change.sql.run(
    `INSERT INTO effects (run, effect, task, attempt, ordinal, state, denial, operation, tool, agent, capability,
       effect_class, risk, idempotency, isolation, input_digest, binding_digest, asked, requested_at, finished_at, binding,
       decision, artifacts, reconciliations, input)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', '[]', ?)`,
    change.run,
    command.effect,
    command.task,
    command.attempt,
    command.ordinal,
    to,
    to === 'denied' ? 'policy' : null,
    command.operation,
    command.tool,
    command.agent,
    command.capability,
    command.effectClass,
    command.risk,
    command.idempotency,
    command.isolation,
    command.inputDigest,
    command.bindingDigest,
    outcome === 'ask' ? 1 : 0,
    change.now,
    to === 'denied' ? change.now : null,
    cell(command.binding, 'binding'),
    cell(command.decision, 'decision'),
    change.payloadCell(command.input, 'input'),
  )
  appendRequested(change, command, to)
}

/** A new decision on an effect that has not started; an approval holds only for the binding that it was given for. */
function requestAgain(change: RunChange, command: CommandOf<'effect.request'>, before: EffectRow): void {
  if (before.state !== 'requested' && before.state !== 'waiting_for_approval') {
    throw refused(
      'conflict',
      `Effect ${before.effect} of task ${before.task} is ${before.state}; it is not requested again.`,
    )
  }
  const isSameBinding = before.bindingDigest === command.bindingDigest
  const approval = isSameBinding ? before.approval : null
  const { outcome } = command.decision
  const mayRun = outcome === 'allow' || (outcome === 'ask' && approval !== null)
  const to = outcome === 'deny' ? 'denied' : mayRun ? 'requested' : 'waiting_for_approval'
  if (to !== before.state) checkEffectMove(before, to)
  if (before.approval !== null && approval === null) {
    change.append('approval.voided', `effect/${before.effect}`, {
      approval: before.approval,
      changed: command.changed,
      before: before.bindingDigest,
      after: command.bindingDigest,
    })
  }
  change.sql.run(
    `UPDATE effects SET state = ?, denial = ?, binding = ?, binding_digest = ?, decision = ?, asked = ?, approval = ?,
       finished_at = ? WHERE run = ? AND effect = ?`,
    to,
    to === 'denied' ? 'policy' : null,
    cell(command.binding, 'binding'),
    command.bindingDigest,
    cell(command.decision, 'decision'),
    outcome === 'ask' ? 1 : 0,
    approval,
    to === 'denied' ? change.now : null,
    change.run,
    before.effect,
  )
  if (to !== before.state || !isSameBinding) appendRequested(change, command, to)
}

function appendRequested(change: RunChange, command: CommandOf<'effect.request'>, to: EffectState): void {
  change.append('effect.requested', `effect/${command.effect}`, {
    task: command.task,
    attempt: command.attempt,
    ordinal: command.ordinal,
    operation: command.operation,
    agent: command.agent,
    tool: command.tool,
    capability: command.capability,
    effectClass: command.effectClass,
    risk: command.risk,
    input: payloadDigest(command.input),
    inputDigest: command.inputDigest,
    bindingDigest: command.bindingDigest,
    decision: command.decision,
    to,
  })
}

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
    'UPDATE effects SET state = ?, result = ?, error = ?, artifacts = ?, finished_at = ? WHERE run = ? AND effect = ?',
    command.to,
    change.payloadCellOrNull(command.result, 'result'),
    command.error === null ? null : cell(command.error, 'error'),
    cell(command.artifacts, 'artifacts'),
    change.now,
    change.run,
    row.effect,
  )
  change.append('effect.finished', `effect/${row.effect}`, {
    to: command.to,
    result: command.result === null ? null : payloadDigest(command.result),
    error: command.error,
    artifacts: command.artifacts.map(({ path, mode, blob }) => ({ path, mode, sha256: blob?.sha256 ?? null })),
  })
}

const nothing = JSON.stringify({ inline: null })
const pureDecision = JSON.stringify({ outcome: 'allow', reason: '', steps: [] })
const emptyBinding = digest({})

export function pureEffect(change: RunChange, command: CommandOf<'effect.pure'>): void {
  checkIdentity(change, command)
  const { effect, task, attempt, ordinal, operation, inputDigest, to, error } = command
  const added = change.sql.all(
    `INSERT INTO effects (run, effect, task, attempt, ordinal, state, operation, tool, capability, effect_class, risk,
       idempotency, isolation, input_digest, binding_digest, asked, requested_at, started_at, finished_at, error, binding,
       decision, artifacts, reconciliations, input)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', 'pure', 'low', 'pure', 'process', ?, ?, 0, ?, ?, ?, ?, '{}', ?, '[]', '[]', ?)
     ON CONFLICT DO NOTHING RETURNING 1`,
    change.run,
    effect,
    task,
    attempt,
    ordinal,
    to,
    operation,
    operation,
    inputDigest,
    emptyBinding,
    change.now,
    change.now,
    change.now,
    error === null ? null : cell(error, 'error'),
    pureDecision,
    nothing,
  )
  if (added.length === 0) throw refused('conflict', `Effect ${effect} of task ${task} is recorded already.`)
  change.append('effect.pure', `effect/${effect}`, { task, attempt, ordinal, operation, inputDigest, to, error })
}
