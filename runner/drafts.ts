import type { ExpectedEffect } from '../policy/approval/record.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import type { Redactor } from '../policy/redact.ts'
import type { RunContext } from './context.ts'
import type { EffectResult, ProducedArtifact } from './executor.ts'
import type { Draft } from './journal.ts'
import type { AskedEffect } from './proposal.ts'

type DraftOf<Type extends Draft['type']> = Extract<Draft, { type: Type }>

/** The request of an effect as it is recorded, redacted. */
export async function requestDraft(context: RunContext, asked: AskedEffect): Promise<DraftOf<'effect.request'>> {
  const { redactor } = context.host.secrets
  const { action } = asked.task
  return {
    type: 'effect.request',
    effect: asked.effect,
    task: asked.task.id,
    attempt: asked.attempt,
    ordinal: 0,
    agent: null,
    operation: action.kind,
    tool: action.tool,
    capability: action.capabilities[0] ?? action.tool,
    effectClass: action.effectClass,
    risk: action.risk,
    idempotency: action.idempotency,
    isolation: action.isolation,
    input: await context.journal.payload(redactor.json(asked.input)),
    inputDigest: asked.inputDigest,
    binding: asked.binding,
    bindingDigest: asked.bindingDigest,
    decision: {
      outcome: asked.decision.outcome,
      reason: redactor.text(asked.decision.reason),
      steps: asked.decision.steps.map(step => redactor.json({ ...step }) as JsonObject),
    },
    changed: asked.changed,
  }
}

/** What people are shown of an effect, redacted; keys of ours that name files or variables are kept. */
export function shownExpected(redactor: Redactor, expected: ExpectedEffect): ExpectedEffect {
  const value = expected as unknown as Json
  return (expected.kind === 'other' ? redactor.json(value) : redactor.record(value)) as unknown as ExpectedEffect
}

export function startDraft(asked: AskedEffect): DraftOf<'effect.start'> {
  return { type: 'effect.start', effect: asked.effect, bindingDigest: asked.bindingDigest }
}

/** The end of an effect. Its artifacts are stored first, so that the ledger never names a blob that it lacks. */
export async function finishDraft(
  context: RunContext,
  effect: string,
  result: EffectResult,
): Promise<DraftOf<'effect.finish'>> {
  const { redactor } = context.host.secrets
  const artifacts: DraftOf<'effect.finish'>['artifacts'] = []
  for (const artifact of result.kind === 'succeeded' ? result.artifacts : [])
    artifacts.push(await keepArtifact(context, artifact))
  const output = result.kind === 'cancelled' ? null : result.output
  return {
    type: 'effect.finish',
    effect,
    to: result.kind,
    result: output === null ? null : await context.journal.payload(redactor.json(output)),
    error: errorOf(context, result),
    artifacts,
    ...(result.enforcement !== undefined && { enforcement: redactor.json(result.enforcement) as JsonObject }),
    ...(result.kind === 'succeeded' &&
      result.longTerm !== undefined && { longTerm: await keptOf(context, result.longTerm) }),
  }
}

async function keptOf(context: RunContext, { value, ...place }: NonNullable<EffectResult['longTerm']>) {
  return { ...place, value: await context.journal.payload(value) }
}

async function keepArtifact(context: RunContext, { path, mode, before, bytes }: ProducedArtifact) {
  return { path, mode, before, blob: bytes === null ? null : await context.journal.putBlob(bytes) }
}

/** What went wrong, redacted; null for a success. */
export function errorOf(context: RunContext, result: EffectResult): { code: string; message: string } | null {
  if (result.kind === 'succeeded') return null
  const code = result.kind === 'cancelled' ? 'cancelled' : result.code
  return { code, message: shownMessage(context, result.message) }
}

const maxMessage = 4_000

/** A message as it is recorded and shown: redacted, and cut where it is very long. */
export function shownMessage({ host }: Pick<RunContext, 'host'>, message: string): string {
  const text = host.secrets.redactor.text(message)
  return text.length <= maxMessage ? text : `${text.slice(0, maxMessage)} ... (${text.length} characters)`
}

/** A pure effect: one row, one event. */
export function pureDraft(context: RunContext, asked: AskedEffect, result: EffectResult): DraftOf<'effect.pure'> {
  return {
    type: 'effect.pure',
    effect: asked.effect,
    task: asked.task.id,
    attempt: asked.attempt,
    ordinal: 0,
    operation: asked.task.action.kind,
    inputDigest: asked.inputDigest,
    to: result.kind === 'succeeded' ? 'succeeded' : 'failed',
    error: errorOf(context, result),
  }
}

/** What a task leaves in working memory. */
export function memoryDelta(kind: string, output: Json): JsonObject | null {
  if (kind !== 'builtin.memory.write' || output === null || typeof output !== 'object' || Array.isArray(output))
    return null
  return typeof output['key'] === 'string' ? { [output['key']]: output['after'] ?? null } : null
}
