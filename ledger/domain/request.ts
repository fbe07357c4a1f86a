import { digest } from '../../policy/canonical.ts'
import type { EffectState } from '../../policy/states.ts'
import type { CommandOf } from '../commands.ts'
import { cell, payloadDigest } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { checkEffectMove, type EffectRow, effectRow } from './effect.ts'
import { checkIdentity } from './identity.ts'

/** Records what is about to be done with the decision on it; asked again, decides anew on what has not started. */
export function requestEffect(change: RunChange, command: CommandOf<'effect.request'>): void {
  checkIdentity(change, command)
  if (digest(command.binding) !== command.bindingDigest) {
    throw refused('invalid', `Effect ${command.effect} names a binding digest that its binding does not have.`)
  }
  const before = effectRow(change, command.effect)
  if (before === null) insertEffect(change, command)
  else requestAgain(change, command, before)
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
