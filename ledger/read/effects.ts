import type { Digest } from '../../policy/canonical.ts'
import type { Decision } from '../../policy/decision/decision.ts'
import type { DenialCause, EffectState } from '../../policy/states.ts'
import { resolve } from '../blobs.ts'
import type { Artifact } from '../commands.ts'
import type { Context } from '../context.ts'
import type { Payload } from '../payload.ts'
import type { EffectRecord } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import type { Row } from '../sql/contract.ts'

const columns = `e.effect, e.run, e.task, e.attempt, e.ordinal, e.agent, e.operation, e.tool, e.capability, e.effect_class,
  e.risk, e.idempotency, e.isolation, e.state, e.denial, e.input, e.input_digest, e.binding, e.binding_digest, e.decision,
  e.approval, e.result, e.error, e.artifacts, e.enforcement, e.reconciliations, e.requested_at, e.started_at, e.finished_at`

export function readEffects(context: Context, run: string): EffectRecord[] {
  const rows = context.sql.all(
    `SELECT ${columns} FROM effects e JOIN tasks t ON t.run = e.run AND t.task = e.task WHERE e.run = ?
     ORDER BY t.position, e.attempt, e.ordinal`,
    run,
  )
  return rows.map(row => asEffect(context, row))
}

/** An effect by its id alone: one look into each run's effects, since nothing hot asks for this. */
export function readEffect(context: Context, effect: Digest): EffectRecord | null {
  const [row] = context.sql.all(
    `SELECT ${columns} FROM runs r CROSS JOIN effects e ON e.run = r.run AND e.effect = ? LIMIT 1`,
    effect,
  )
  return row === undefined ? null : asEffect(context, row)
}

function asEffect(context: Context, row: Row): EffectRecord {
  const cells = new Cells(row)
  return {
    effect: cells.text(),
    run: cells.text(),
    task: cells.text(),
    attempt: cells.int(),
    ordinal: cells.int(),
    agent: cells.textOrNull(),
    operation: cells.text(),
    tool: cells.text(),
    capability: cells.text(),
    effectClass: cells.text() as EffectRecord['effectClass'],
    risk: cells.text() as EffectRecord['risk'],
    idempotency: cells.text() as EffectRecord['idempotency'],
    isolation: cells.text() as EffectRecord['isolation'],
    state: cells.text() as EffectState,
    denial: cells.textOrNull() as DenialCause | null,
    input: resolve(context, cells.json<Payload>()),
    inputDigest: cells.text(),
    binding: cells.json(),
    bindingDigest: cells.text(),
    decision: cells.json<Decision>(),
    approval: cells.textOrNull(),
    result: resolve(context, cells.jsonOrNull<Payload>()),
    error: cells.jsonOrNull(),
    artifacts: cells.json<Artifact[]>(),
    enforcement: cells.jsonOrNull(),
    reconciliations: cells.json<EffectRecord['reconciliations']>(),
    requestedAt: cells.text(),
    startedAt: cells.textOrNull(),
    finishedAt: cells.textOrNull(),
  }
}
