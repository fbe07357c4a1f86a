import { z } from 'zod'
import { resolutionOutcomes } from '../policy/approval/record.ts'
import { decisionSteps } from '../policy/decision/decision.ts'
import { effectClasses, idempotencies, isolations, risks } from '../policy/effect.ts'
import { denialCauses, effectStates, runStates, taskStates } from '../policy/states.ts'
import {
  approvalSettingsSchema,
  artifactSchema,
  commitSchema,
  hostFloorSchema,
  instanceSchema,
  personSchema,
  requesterSchema,
} from './commands.ts'
import { digestSchema, jsonSchema } from './payload.ts'
import type { RunSnapshot } from './port.ts'

/**
 * A RunSnapshot as it comes over HTTP. Unknown members pass and are dropped, so that a newer control plane of the same
 * major version stays readable.
 */
const jsonObject = z.record(z.string(), jsonSchema)
const fault = z.object({ code: z.string(), message: z.string() })

export const runRecordSchema = z.object({
  run: z.string(),
  state: z.enum(runStates),
  workflowName: z.string(),
  document: z.string(),
  workflowDigest: digestSchema,
  planDigest: digestSchema,
  floorDigest: digestSchema.nullable(),
  hostFloor: hostFloorSchema.nullable(),
  commit: commitSchema,
  parent: z.string().nullable(),
  instance: instanceSchema.nullable(),
  settings: approvalSettingsSchema,
  resumeWith: z.enum(['rerun', 'workflow_dispatch']),
  requesters: z.array(requesterSchema),
  cancelRequested: z.boolean(),
  epoch: z.int(),
  pause: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
  endedAt: z.string().nullable(),
})

export const taskRecordSchema = z.object({
  task: z.string(),
  state: z.enum(taskStates),
  attempt: z.int(),
  needs: z.array(z.string()),
  failure: z.enum(['stop', 'continue']),
  output: jsonSchema,
  error: fault.nullable(),
  condition: jsonObject.nullable(),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
  compensates: z.string().exactOptional(),
})

const decisionStep = z.object({
  step: z.enum(decisionSteps),
  outcome: z.enum(['allow', 'deny', 'ask']),
  rule: z.string(),
  subject: z.string(),
  origin: z.enum(['document', 'floor', 'default', 'runtime']),
  remedy: z.string(),
})

export const effectRecordSchema = z.object({
  effect: digestSchema,
  run: z.string(),
  task: z.string(),
  attempt: z.int(),
  ordinal: z.int(),
  agent: z.string().nullable(),
  operation: z.string(),
  tool: z.string(),
  capability: z.string(),
  effectClass: z.enum(effectClasses),
  risk: z.enum(risks),
  idempotency: z.enum(idempotencies),
  isolation: z.enum(isolations),
  state: z.enum(effectStates),
  denial: z.enum(denialCauses).nullable(),
  input: jsonSchema,
  inputDigest: digestSchema,
  binding: jsonObject,
  bindingDigest: digestSchema,
  decision: z.object({
    outcome: z.enum(['allow', 'deny', 'ask']),
    reason: z.string(),
    steps: z.array(decisionStep),
  }),
  approval: digestSchema.nullable(),
  result: jsonSchema,
  error: fault.nullable(),
  artifacts: z.array(artifactSchema),
  enforcement: jsonObject.nullable(),
  reconciliations: z.array(z.object({ status: z.string(), reason: z.string(), at: z.string(), actor: z.string() })),
  requestedAt: z.string(),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
})

const secretHelper = z.object({
  variable: z.string(),
  command: z.string(),
  args: z.array(z.string()),
  realPath: z.string(),
  executableSha256: digestSchema,
})

const expectedEffect = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('write'),
    path: z.string(),
    diff: z.string(),
    beforeSha256: digestSchema.nullable(),
    afterSha256: digestSchema,
    bytes: z.int(),
  }),
  z.object({
    kind: z.literal('process'),
    command: z.string(),
    realPath: z.string(),
    executableSha256: digestSchema,
    interpreters: z.array(z.object({ path: z.string(), sha256: digestSchema })).exactOptional(),
    args: z.array(z.string()),
    cwd: z.string(),
    environment: z.array(z.string()),
    argvFiles: z.record(z.string(), digestSchema),
    limits: z.record(z.string(), z.number()),
    extension: z.object({ protocolVersion: z.string(), capabilities: z.array(z.string()) }).exactOptional(),
    secretHelpers: z.array(secretHelper).exactOptional(),
  }),
  z.object({
    kind: z.literal('container'),
    command: z.string(),
    args: z.array(z.string()),
    engine: z.object({ kind: z.enum(['docker', 'podman']), version: z.string() }),
    image: z.object({ reference: z.string(), id: z.string() }),
    cwd: z.string(),
    environment: z.array(z.string()),
    argvFiles: z.record(z.string(), digestSchema),
    limits: z.record(z.string(), z.number()),
    extension: z.object({ protocolVersion: z.string(), capabilities: z.array(z.string()) }).exactOptional(),
    secretHelpers: z.array(secretHelper).exactOptional(),
  }),
  z.object({ kind: z.literal('other'), summary: z.string(), detail: jsonSchema }),
])

export const approvalRecordSchema = z.object({
  id: digestSchema,
  run: z.string(),
  pause: z.string(),
  number: z.int(),
  trace: z.string(),
  task: z.string(),
  agent: z.string().nullable(),
  tool: z.string(),
  capability: z.string(),
  effect: digestSchema,
  effectClass: z.enum(effectClasses),
  risk: z.enum(risks),
  isolation: z.enum(isolations),
  input: jsonObject,
  inputDigest: digestSchema,
  bindingDigest: digestSchema,
  expectedEffect,
  reason: z.string(),
  decisionTrace: z.array(decisionStep),
  planDigest: digestSchema,
  commit: commitSchema,
  requestedAt: z.string(),
  expiresAt: z.string(),
  needed: z.int(),
  resolution: z
    .object({
      outcome: z.enum(resolutionOutcomes),
      by: z.array(personSchema),
      reason: z.string(),
      at: z.string(),
      via: z.enum(['comment', 'page', 'api', 'cli', 'system']),
    })
    .nullable(),
})

export const pauseRecordSchema = z.object({
  pause: z.string(),
  run: z.string(),
  state: z.enum(['open', 'resolved']),
  items: z.array(approvalRecordSchema),
  later: z.array(z.string()),
  createdAt: z.string(),
  expiresAt: z.string(),
  issue: z.object({ number: z.int(), id: z.int(), url: z.string(), bodyDigest: digestSchema }).nullable(),
  shortDigest: z.string(),
})

export const runSnapshotSchema: z.ZodType<RunSnapshot> = z.object({
  record: runRecordSchema,
  plan: jsonSchema,
  tasks: z.array(taskRecordSchema),
  effects: z.array(effectRecordSchema),
  memory: jsonObject,
  pauses: z.array(pauseRecordSchema),
  outputs: jsonSchema,
  head: digestSchema,
  activeMilliseconds: z.int().min(0).exactOptional(),
  former: z.enum(runStates).exclude(['running', 'paused']).exactOptional(),
})
