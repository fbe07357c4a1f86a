import { z } from 'zod'
import { effectClasses, risks } from '../../policy/effect.ts'
import { denialCauses, effectStates, runStates, taskStates } from '../../policy/states.ts'
import { commitSchema, hostFloorSchema, instanceSchema, personSchema, requesterSchema } from '../commands.ts'
import { digestSchema, jsonSchema } from '../payload.ts'

/**
 * Every type of audit event with the schema of its data: a closed list. Contents stand in the data by digest; they
 * themselves are in the run's rows and blobs.
 */
const object = z.record(z.string(), jsonSchema)
const error = z.strictObject({ code: z.string(), message: z.string() }).nullable()
const holder = z.union([
  z.strictObject({ kind: z.literal('job'), workflowRunId: z.int(), attempt: z.int() }),
  z.strictObject({
    kind: z.literal('local'),
    bootId: z.string(),
    pid: z.int(),
    startTime: z.string(),
    pidNamespace: z.string().nullable().exactOptional(),
  }),
])
const effectPlace = { task: z.string(), attempt: z.int(), ordinal: z.int(), operation: z.string() }
const via = z.enum(['comment', 'page', 'api', 'cli', 'system', 'issue_closed'])

export const auditData = {
  // --- of the ledger ---
  'ledger.created': z.strictObject({ version: z.int() }),
  /** Ties a run's chain to the ledger's: whenever a run is created, pauses or ends. */
  checkpoint: z.strictObject({ run: z.string(), seq: z.int(), head: digestSchema }),

  // --- of a run ---
  'run.created': z.strictObject({
    workflowName: z.string(),
    document: z.string(),
    workflowDigest: digestSchema,
    planDigest: digestSchema,
    floorDigest: digestSchema.nullable(),
    hostFloor: hostFloorSchema.exactOptional(),
    plan: digestSchema,
    commit: commitSchema,
    parent: z.string().nullable(),
    instance: instanceSchema.nullable(),
    requesters: z.array(requesterSchema),
    /** Digest of the approval settings. */
    settings: digestSchema,
    resumeWith: z.string(),
    epoch: z.int(),
    holder,
  }),
  'run.paused': z.strictObject({
    pause: z.string(),
    items: z.array(
      z.strictObject({
        number: z.int(),
        approval: digestSchema,
        effect: digestSchema,
        bindingDigest: digestSchema,
        expected: digestSchema,
      }),
    ),
    later: z.array(z.string()),
    expiresAt: z.string(),
    shortDigest: z.string(),
  }),
  'run.cancel_requested': z.strictObject({ person: personSchema, reason: z.string(), via }),
  /** The run goes on with its compensations alone; `from` its state before, `person` who asked, null for the runner. */
  'run.compensating': z.strictObject({
    from: z.enum(runStates),
    tasks: z.array(z.strictObject({ task: z.string(), compensates: z.string() })),
    person: personSchema.nullable(),
    reason: z.string(),
  }),
  /** What the effect did has been undone by the effect of another task. */
  'effect.compensated': z.strictObject({ by: z.string(), to: z.enum(effectStates) }),
  'run.resumable': z.strictObject({ from: z.enum(runStates) }),
  'run.finished': z.strictObject({ to: z.enum(runStates), outputs: digestSchema.nullable() }),
  'lease.acquired': z.strictObject({
    epoch: z.int(),
    holder,
    from: holder.nullable(),
    hostFloor: hostFloorSchema.exactOptional(),
  }),
  'lease.released': z.strictObject({ epoch: z.int() }),
  'task.moved': z.strictObject({
    task: z.string(),
    from: z.enum(taskStates),
    to: z.enum(taskStates),
    attempt: z.int(),
    output: digestSchema.nullable(),
    error,
    condition: object.nullable(),
    memory: digestSchema.nullable(),
  }),
  'effect.requested': z.strictObject({
    ...effectPlace,
    agent: z.string().nullable(),
    tool: z.string(),
    capability: z.string(),
    effectClass: z.enum(effectClasses),
    risk: z.enum(risks),
    input: digestSchema,
    inputDigest: digestSchema,
    bindingDigest: digestSchema,
    decision: z.strictObject({ outcome: z.string(), reason: z.string(), steps: z.array(object) }),
    to: z.enum(effectStates),
  }),
  /** An approval lost its force, since what it was bound to has changed. */
  'approval.voided': z.strictObject({
    approval: digestSchema,
    changed: z.array(z.string()),
    before: digestSchema,
    after: digestSchema,
  }),
  'effect.started': z.strictObject({
    bindingDigest: digestSchema,
    approval: digestSchema.nullable(),
    epoch: z.int(),
  }),
  'effect.finished': z.strictObject({
    to: z.enum(effectStates),
    result: digestSchema.nullable(),
    error,
    artifacts: z.array(z.strictObject({ path: z.string(), mode: z.int(), sha256: digestSchema.nullable() })),
    enforcement: object.optional(),
  }),
  /** A value of the long-term memory, by digest, with the success of the effect that wrote it. */
  'long_term.written': z.strictObject({
    namespace: z.string(),
    key: z.string(),
    value: digestSchema,
    expiresAt: z.string().nullable(),
  }),
  'effect.pure': z.strictObject({ ...effectPlace, inputDigest: digestSchema, to: z.enum(effectStates), error }),
  /** An effect that will not run: a person's no, an expiry, or the end of its run. */
  'effect.closed': z.strictObject({
    to: z.enum(['denied', 'cancelled']),
    cause: z.enum([...denialCauses, 'cancelled', 'run_ended']),
  }),
  'effect.approved': z.strictObject({ approval: digestSchema, bindingDigest: digestSchema }),
  'effect.reconciled': z.strictObject({
    status: z.enum(['applied', 'not-applied', 'compensated']),
    reason: z.string(),
    evidence: digestSchema,
    result: digestSchema.nullable(),
    person: personSchema,
    to: z.enum(effectStates),
  }),
  'pause.registered': z.strictObject({ issueNumber: z.int(), issueId: z.int(), bodyDigest: digestSchema }),
  'issue.voided': z.strictObject({ issueNumber: z.int(), cause: z.string() }),
  'approval.voted': z.strictObject({
    vote: z.enum(['approve', 'reject']),
    person: personSchema,
    reason: z.string(),
    via,
    comment: z.int().nullable(),
    bodyDigest: digestSchema.nullable(),
    needed: z.int(),
  }),
  'approval.resolved': z.strictObject({
    effect: digestSchema,
    outcome: z.enum(['approved', 'rejected', 'expired', 'cancelled']),
    by: z.array(personSchema),
    reason: z.string(),
    via,
  }),
  'pause.resolved': z.strictObject({ follows: z.enum(['redispatch', 'run_ended']) }),
  'requesters.added': z.strictObject({ requesters: z.array(requesterSchema) }),
  'note.added': z.strictObject({ code: z.string(), data: object }),
  /** Retention dropped the data of the events up to and including `through`. */
  'data.erased': z.strictObject({ through: z.int() }),
} as const

export type AuditType = keyof typeof auditData
export type AuditData<Type extends AuditType> = z.infer<(typeof auditData)[Type]>
export const auditTypes = Object.keys(auditData) as AuditType[]

/** Whether a type read from a file is one of ours. */
export function isAuditType(type: string): type is AuditType {
  return Object.hasOwn(auditData, type)
}
