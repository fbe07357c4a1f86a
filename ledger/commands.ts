import { z } from 'zod'
import { effectClasses, idempotencies, isolations, risks } from '../policy/effect.ts'
import { longTermBounds } from './memory/bounds.ts'
import { blobRefSchema, digestSchema, jsonSchema, payloadSchema } from './payload.ts'

/**
 * The commands of the ledger: the one description that the runner, the embedded ledger, the HTTP routes and the remote
 * ledger share. A batch is one transaction, idempotent by command id, refused on a stale epoch.
 *
 * `lease` commands need the run's lease (the batch's epoch is current). `control` commands need none: they come from the
 * control plane or the local operator, never from a job's lease token.
 */
const id = z.string().min(1).max(64)
const jsonObject = z.record(z.string(), jsonSchema)
const time = z.iso.datetime()
const command = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ id, type: z.literal(type), ...shape })

export const commitSchema = z.strictObject({ sha: z.string().nullable(), head: z.string().nullable() })

/** Who is paused on GitHub (04, the instance). `key` is the canonical JSON of the identity; the rest is for reads and dispatch. */
export const instanceSchema = z.strictObject({
  key: z.string(),
  repositoryId: z.int(),
  workflowRunId: z.int(),
  /** GitHub's run attempt. */
  attempt: z.int().min(1),
  job: z.string(),
  jobId: z.int().nullable(),
  step: z.string(),
  document: z.string(),
  workflowRef: z.string(),
  ref: z.string(),
  sha: z.string(),
  event: z.string(),
  actorId: z.int(),
  actor: z.string(),
  isPublic: z.boolean(),
  pullRequest: z.int().nullable(),
})
export type Instance = z.infer<typeof instanceSchema>

export const approvalSettingsSchema = z.strictObject({
  minimumApprovals: z.int().min(1),
  users: z.array(z.strictObject({ login: z.string(), id: z.int().nullable() })).nullable(),
  teams: z.array(z.string()).nullable(),
  permission: z.enum(['read', 'triage', 'write', 'maintain', 'admin']),
  preventSelfApproval: z.boolean(),
  expiresAfterSeconds: z
    .int()
    .min(60)
    .max(29 * 86_400),
  plainWords: z.boolean(),
  notify: z.array(z.string()),
  labels: z.array(z.string()),
  issueDetail: z.enum(['full', 'summary']),
  onSuperseded: z.enum(['warn', 'refuse']),
})

export const requesterSchema = z.strictObject({ id: z.int(), login: z.string(), role: z.string() })
export type Requester = z.infer<typeof requesterSchema>

/** What who works on a run could know of its host's floor; a job container hides the host's files (02, The floor). */
export const hostFloorSchema = z.union([
  z.strictObject({ state: z.literal('installed'), digest: digestSchema }),
  z.strictObject({ state: z.enum(['none', 'not readable']) }),
])
export type HostFloorRecord = z.infer<typeof hostFloorSchema>

/** Creates the run and takes its lease at epoch 1; its first batch carries the plan. */
export const runCreate = command('run.create', {
  workflowName: z.string(),
  /** The document as named, workspace-relative where under it. */
  document: z.string(),
  workflowDigest: digestSchema,
  planDigest: digestSchema,
  floorDigest: digestSchema.nullable(),
  /** Absent = not told. */
  hostFloor: hostFloorSchema.exactOptional(),
  plan: payloadSchema,
  commit: commitSchema,
  /** A failed run that this one follows; nothing of it is reused. */
  parent: z.string().nullable(),
  tasks: z.array(z.strictObject({ id: z.string(), needs: z.array(z.string()), failure: z.enum(['stop', 'continue']) })),
  memory: jsonObject,
  settings: approvalSettingsSchema,
  resumeWith: z.enum(['rerun', 'workflow_dispatch']),
})

export const leaseRenew = command('lease.renew', {})
export const leaseRelease = command('lease.release', {})

/**
 * A task's move. `output` with `succeeded` and `skipped`, and with the failed end of a task that collects results; `error`
 * with the failing ends; `memory` is the delta it commits.
 */
export const taskMove = command('task.move', {
  task: z.string(),
  attempt: z.int().min(1),
  to: z.enum(['pending', 'waiting', 'running', 'succeeded', 'failed', 'denied', 'skipped', 'uncertain', 'cancelled']),
  output: payloadSchema.nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  /** `{expression, result, contextDigest}` where a `when` decided. */
  condition: jsonObject.nullable(),
  memory: jsonObject.nullable(),
})

/**
 * Records what is about to be done, before it is. `decision.outcome` decides the first state: allow -> requested, ask ->
 * waiting_for_approval, deny -> denied. Asking again for an effect that waits, with another binding, replaces its
 * binding and voids an approval it had, naming the facts that changed.
 */
export const effectRequest = command('effect.request', {
  effect: digestSchema,
  task: z.string(),
  attempt: z.int().min(1),
  ordinal: z.int().min(0),
  agent: z.string().nullable(),
  operation: z.string(),
  tool: z.string(),
  capability: z.string(),
  effectClass: z.enum(effectClasses),
  risk: z.enum(risks),
  idempotency: z.enum(idempotencies),
  isolation: z.enum(isolations),
  /** Redacted. */
  input: payloadSchema,
  inputDigest: digestSchema,
  binding: jsonObject,
  bindingDigest: digestSchema,
  decision: z.strictObject({
    outcome: z.enum(['allow', 'deny', 'ask']),
    reason: z.string(),
    steps: z.array(jsonObject),
  }),
  /** Names of the facts that changed since an approval was given; empty on a first request. */
  changed: z.array(z.string()),
})

/** The last word before the executor: refused unless requested, and approved for this very binding where a person had to. */
export const effectStart = command('effect.start', { effect: digestSchema, bindingDigest: digestSchema })

export const artifactSchema = z.strictObject({
  path: z.string(),
  mode: z.int(),
  /** Digest and size of the file before this effect, null where there was none. */
  before: digestSchema.nullable(),
  /** null = the effect deleted the file. */
  blob: blobRefSchema.nullable(),
})
export type Artifact = z.infer<typeof artifactSchema>

export const effectFinish = command('effect.finish', {
  effect: digestSchema,
  to: z.enum(['succeeded', 'failed', 'cancelled', 'uncertain']),
  /** Redacted. */
  result: payloadSchema.nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  artifacts: z.array(artifactSchema),
  /** What held the effect while it ran, by name: containment, limits, what was absent. */
  enforcement: jsonObject.optional(),
  /** What a successful effect leaves in the long-term memory, redacted. */
  longTerm: z
    .strictObject({
      namespace: z.string().min(1).max(longTermBounds.namespaceCharacters),
      key: z.string().min(1).max(longTermBounds.keyCharacters),
      value: payloadSchema,
      /** From now; null = for good. */
      retentionDays: z.int().min(1).max(36_500).nullable(),
    })
    .optional(),
})

/** A pure effect is only its finish: requested, decided, started and finished in one row and one audit event. */
export const effectPure = command('effect.pure', {
  effect: digestSchema,
  task: z.string(),
  attempt: z.int().min(1),
  ordinal: z.int().min(0),
  operation: z.string(),
  inputDigest: digestSchema,
  to: z.enum(['succeeded', 'failed']),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
})

export const pauseItemSchema = z.strictObject({
  effect: digestSchema,
  bindingDigest: digestSchema,
  reason: z.string(),
  /** An ExpectedEffect, redacted. */
  expected: payloadSchema,
})

/** Stops the run until people have decided every item; releases the lease in the same transaction. */
export const runPause = command('run.pause', {
  pause: id,
  items: z.array(pauseItemSchema).min(1),
  /** Tasks that will ask when their input is known. */
  later: z.array(z.string()),
  expiresAt: time,
})

/** A task that undoes what `compensates` did; it needs the one that is undone before it. */
const compensationTask = z.strictObject({ id: z.string(), compensates: z.string(), needs: z.array(z.string()) })

/** The run's compensations become its tasks, behind every other; each must compensate a task that succeeded. */
export const compensationBegin = command('compensation.begin', { tasks: z.array(compensationTask).min(1) })

export const runFinish = command('run.finish', {
  to: z.enum(['succeeded', 'failed', 'denied', 'uncertain', 'cancelled']),
  outputs: payloadSchema.nullable(),
})

// --- control ---

/** Verified by the control plane against GitHub before it is sent: at most one registered issue per pause. */
export const pauseRegister = command('pause.register', {
  pause: id,
  issueNumber: z.int().min(1),
  issueId: z.int(),
  issueUrl: z.string(),
  bodyDigest: digestSchema,
})

/** The issue no longer shows what was rendered (edited, deleted, transferred): it is void for good, the pause stays. */
export const issueVoid = command('issue.void', { pause: id, issueNumber: z.int(), cause: z.string() })

export const personSchema = z.strictObject({ id: z.int().nullable(), login: z.string() })

/** One person's word on some items, already found eligible. `items` are approval ids. */
export const vote = command('approval.vote', {
  pause: id,
  items: z.array(digestSchema).min(1),
  vote: z.enum(['approve', 'reject']),
  person: personSchema,
  reason: z.string(),
  via: z.enum(['comment', 'page', 'api', 'cli']),
  /** GitHub comment id: a comment decides once, however often it is delivered. */
  comment: z.int().nullable(),
  /** Body digest that the person decided on; null only in the CLI. */
  bodyDigest: digestSchema.nullable(),
  /** Approvals that the stricter of the floors at creation and now requires. */
  needed: z.int().min(1),
})

/** Items whose time has come, each recorded as expired, never as rejected. */
export const pauseExpire = command('pause.expire', { pause: id })

/** Asks the run to stop: a paused one ends at once, a running one is told in its next receipt. */
export const runCancel = command('run.cancel', {
  person: personSchema,
  reason: z.string(),
  via: z.enum(['comment', 'page', 'api', 'cli', 'issue_closed']),
})

/** Opens a run that failed, was denied or cancelled, for its compensations alone; whoever takes its lease goes on with them. */
export const runCompensate = command('run.compensate', {
  tasks: z.array(compensationTask).min(1),
  person: personSchema,
  reason: z.string(),
})

export const effectReconcile = command('effect.reconcile', {
  effect: digestSchema,
  status: z.enum(['applied', 'not-applied', 'compensated']),
  reason: z.string().min(1),
  evidence: payloadSchema,
  /** What the effect gave, where applied and known. */
  result: payloadSchema.nullable(),
  person: personSchema,
})

export const requestersAdd = command('requesters.add', { requesters: z.array(requesterSchema) })

/** A fact worth keeping that changes no state: an edited comment, a refused decision, a superseding run. */
export const noteAdd = command('note.add', { subject: z.string(), code: z.string(), data: jsonObject })

export const leaseCommandSchema = z.discriminatedUnion('type', [
  runCreate,
  leaseRenew,
  leaseRelease,
  taskMove,
  effectRequest,
  effectStart,
  effectFinish,
  effectPure,
  runPause,
  compensationBegin,
  runFinish,
])
export const controlCommandSchema = z.discriminatedUnion('type', [
  pauseRegister,
  issueVoid,
  vote,
  pauseExpire,
  runCancel,
  runCompensate,
  effectReconcile,
  requestersAdd,
  noteAdd,
])
export type LeaseCommand = z.infer<typeof leaseCommandSchema>
export type ControlCommand = z.infer<typeof controlCommandSchema>
export type Command = LeaseCommand | ControlCommand
export type CommandOf<Type extends Command['type']> = Extract<Command, { type: Type }>
