import { z } from 'zod'
import { approvalSettingsSchema, commitSchema, hostFloorSchema, leaseCommandSchema } from './commands.ts'
import { longTermBounds } from './memory/bounds.ts'
import { digestSchema, jsonSchema } from './payload.ts'

/**
 * What travels between the Action and the control plane: shared by `ledger/remote.ts`, `action/` and `control-plane/`.
 * Errors are RFC 9457 problem+json with `code` (a LedgerErrorCode or a route's own) beside the standard members.
 */

/** POST /v1/attach, `Authorization: Bearer <GitHub OIDC token for the control plane's audience>`. */
export const attachRequestSchema = z.strictObject({
  version: z.literal(1),
  /** Workspace-relative path of the document. */
  document: z.string().min(1).max(1024),
  /** GITHUB_ACTION. */
  step: z.string(),
  /** GITHUB_JOB. */
  job: z.string(),
  /** `${{ job.check_run_id }}`, null on servers without it. */
  jobId: z.int().nullable(),
  /** SHA-256 of the hidden input `matrix`. */
  matrixDigest: digestSchema,
  commit: commitSchema,
  /** `agentctl-run` of a dispatch, null otherwise. */
  agentctlRun: z.string().nullable(),
  /** What the step's inputs ask for; met with the floor by the control plane. Absent = not given. */
  settings: z.strictObject({
    users: z.array(z.string()).optional(),
    teams: z.array(z.string()).optional(),
    minimumApprovals: z.int().min(1).optional(),
    preventSelfApproval: z.boolean().optional(),
    expiresAfterSeconds: z.int().optional(),
    labels: z.array(z.string()).optional(),
    issueDetail: z.enum(['full', 'summary']).optional(),
  }),
  /**
   * The post step asks: GitHub starts it only when this attempt's main has ended. No run is begun, the lease goes over
   * from main to settle what it left open, and a pause without an issue may get its issue. `asker` is main's.
   */
  settling: z.boolean().optional(),
  /** Made up by the process that asks, the same in every repetition: tells it from another step of the same place. */
  asker: z.string().min(1).max(64).optional(),
  /** What the job knows of its host's floor, recorded where it resumes a run; a new run's stands in its run.create. */
  hostFloor: hostFloorSchema.optional(),
})
export type AttachRequest = z.infer<typeof attachRequestSchema>

/**
 * The rows of the attempt table of 04. `new` and `resume` come with a lease; the others tell a recorded end. A post step
 * that settles never gets `new`: where there is no run it is refused with `nothing_to_settle`.
 * - new: an unused run id (with `parent` where an earlier attempt failed);
 * - resume: paused with every item resolved, or taken over from an earlier attempt of this instance;
 * - pending: paused, an item unresolved; same issue, exit 3;
 * - ended: succeeded, denied, cancelled: the recorded outputs or exit code again;
 * - uncertain: refused with the reconcile command.
 */
export const attachOutcomes = ['new', 'resume', 'pending', 'ended', 'uncertain'] as const

export const attachAnswerSchema = z.strictObject({
  outcome: z.enum(attachOutcomes),
  run: z.string(),
  epoch: z.int(),
  lease: z.strictObject({ token: z.string(), expiresAt: z.iso.datetime() }).nullable(),
  repository: z.strictObject({ id: z.int(), owner: z.string(), name: z.string(), isPublic: z.boolean() }),
  /** Effective repository floor (`spec` of a SecurityFloor), null where none is installed. */
  floor: z.unknown(),
  floorDigest: digestSchema.nullable(),
  settings: approvalSettingsSchema,
  /** A failed run that the new one follows, with what it confirmed. */
  parent: z
    .strictObject({
      run: z.string(),
      confirmed: z.array(
        z.strictObject({
          operation: z.string(),
          task: z.string(),
          inputDigest: digestSchema,
          effect: digestSchema,
          at: z.string(),
        }),
      ),
    })
    .nullable(),
  /** What the record says where the outcome is not `new`. */
  recorded: z
    .strictObject({
      state: z.string(),
      exitCode: z.int(),
      planDigest: digestSchema,
      outputs: z.unknown(),
      head: digestSchema,
      pause: z.string().nullable(),
      issue: z.strictObject({ number: z.int(), url: z.string() }).nullable(),
      /** `agentctl effects reconcile ...` for an uncertain run, a sentence for a rejected one. */
      message: z.string(),
    })
    .nullable(),
  /** Pages and API of the run, for the summary and `audit-url`. */
  auditUrl: z.string(),
})
export type AttachAnswer = z.infer<typeof attachAnswerSchema>

/** POST /v1/repos/{owner}/{repo}/runs/{id}/commands, `Authorization: Bearer <lease token>`. Answers a Receipt. */
export const commandsRequestSchema = z.strictObject({
  epoch: z.int(),
  commands: z.array(leaseCommandSchema).min(1).max(1000),
})
/** A Receipt; `token` replaces the lease token where the old one nears its end. */
export const receiptSchema = z.object({
  epoch: z.int(),
  head: digestSchema,
  cancelRequested: z.boolean(),
  token: z.string().optional(),
})

/** GET /v1/repos/{owner}/{repo}/runs/{id}/pause, lease token: the issue to open. */
export const pauseIssueSchema = z.strictObject({
  pause: z.string(),
  title: z.string(),
  body: z.string(),
  labels: z.array(z.string()),
  bodyDigest: digestSchema,
  /** Already registered: open nothing. */
  registered: z.strictObject({ number: z.int(), url: z.string() }).nullable(),
})
export type PauseIssue = z.infer<typeof pauseIssueSchema>

/** POST /v1/repos/{owner}/{repo}/runs/{id}/registration, lease token. */
export const registrationRequestSchema = z.strictObject({ pause: z.string(), issue: z.int().min(1) })
/** The issue that counts; another number than was sent means that one was there first and the sent one was closed. */
export const registrationAnswerSchema = z.strictObject({ number: z.int(), url: z.string(), superseded: z.boolean() })
export type RegistrationAnswer = z.infer<typeof registrationAnswerSchema>

/** GET /v1/repos/{owner}/{repo}/runs/{id}/memory, lease token: one key of a namespace, or a search in it; one of the two. */
export const longTermQuerySchema = z.object({
  namespace: z.string().min(1).max(longTermBounds.namespaceCharacters),
  key: z.string().min(1).max(longTermBounds.keyCharacters).optional(),
  query: z.string().min(1).max(longTermBounds.queryCharacters).optional(),
  limit: z.coerce.number().int().min(1).max(longTermBounds.searchItems).default(10).describe('items of a search'),
})
export type LongTermQuery = z.infer<typeof longTermQuerySchema>
/** The one item of a key that is there, what a search found, or nothing. */
export const longTermAnswerSchema = z.object({ items: z.array(z.object({ key: z.string(), value: jsonSchema })) })

/** GET .../runs/{id}/snapshot, lease token: a RunSnapshot. PUT|GET .../blobs/{sha256}/{part}?bytes=TOTAL: 512 KiB parts from 0. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  code: z.string(),
})
export type Problem = z.infer<typeof problemSchema>
