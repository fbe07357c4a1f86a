import { digest } from '../../policy/canonical.ts'
import type { CommandOf } from '../commands.ts'
import { cell } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { effectRow } from './effect.ts'
import { checkIdentity } from './identity.ts'

const nothing = JSON.stringify({ inline: null })
const pureDecision = JSON.stringify({ outcome: 'allow', reason: '', steps: [] })
const emptyBinding = digest({})

/** A pure effect is only its finish: one row, one event. */
export function pureEffect(change: RunChange, command: CommandOf<'effect.pure'>): void {
  checkIdentity(change, command)
  const { effect, task, attempt, ordinal, operation, inputDigest, to, error } = command
  if (effectRow(change, effect) !== null) {
    throw refused('conflict', `Effect ${effect} of task ${task} is recorded already.`)
  }
  change.sql.run(
    `INSERT INTO effects (run, effect, task, attempt, ordinal, state, operation, tool, capability, effect_class, risk,
       idempotency, isolation, input_digest, binding_digest, asked, requested_at, started_at, finished_at, error, binding,
       decision, artifacts, reconciliations, input)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', 'pure', 'low', 'pure', 'process', ?, ?, 0, ?, ?, ?, ?, '{}', ?, '[]', '[]', ?)`,
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
  change.append('effect.pure', `effect/${effect}`, { task, attempt, ordinal, operation, inputDigest, to, error })
}
