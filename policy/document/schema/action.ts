import { z } from 'zod'
import { idempotencies, isolations } from '../../effect.ts'
import { bounds, jsonObject, jsonSchemaSchema, name, secretReference, timeoutSeconds } from './common.ts'

const mebibyte = 1_048_576
const outputLimit = z.int().min(1).max(bounds.outputBytes)

/** Kinds of actions, in the order in which 01 lists them. */
export const actionKinds = [
  'builtin.assign',
  'builtin.assert',
  'builtin.read',
  'builtin.write',
  'builtin.apply_diff',
  'builtin.shell.exec',
  'extension.process',
  'builtin.memory.read',
  'builtin.memory.write',
  'builtin.long_term_memory.read',
  'builtin.long_term_memory.search',
  'builtin.long_term_memory.write',
  'builtin.long_term_memory.promote',
  'mcp.call',
  'a2a.delegate',
] as const
export type ActionKind = (typeof actionKinds)[number]

/** The one protocol that process extensions speak (03, Extension protocol). */
export const extensionProtocol = 'agentctl.dev/process-extension/v1'

/** A whole number of a range that a refusal tells whole. */
function between(least: number, most: number) {
  const told = `must be from ${least} to ${most}`
  return z.int().min(least, told).max(most, told)
}

/**
 * A reference that can only ever mean one image. The name is what both engines take for one, without a tag, so that nothing
 * in it is syntax of a path or a query.
 */
const imagePattern = /^(?:[a-z0-9]+(?:(?:[._:/]|__|-+)[a-z0-9]+)*@)?sha256:[0-9a-f]{64}$/
const imageReference = z
  .string()
  .max(512)
  .regex(imagePattern, 'an image is pinned: NAME@sha256:<64 hex> or sha256:<64 hex>')
  .describe('NAME@sha256:<64 hex> or sha256:<64 hex>; it must exist locally')

const container = z
  .strictObject({
    image: imageReference,
    runtime: z.enum(['auto', 'docker', 'podman']).default('auto'),
    memoryLimitBytes: between(16 * mebibyte, 16_384 * mebibyte).default(256 * mebibyte),
    cpuLimitMillis: between(1, 64_000).default(1000),
    pidsLimit: between(1, 4096).default(64),
  })
  .describe('the container of `isolation: container`')

const cell = z
  .strictObject({
    image: z.string().min(1).describe('sha256:<64 hex> of the OCI config'),
    workspace: name.describe('a workspace that the installation maps'),
    profile: z.enum(['production', 'development']).default('production'),
    memoryLimitBytes: z
      .int()
      .min(64 * mebibyte)
      .max(16_384 * mebibyte)
      .default(512 * mebibyte),
    cpuLimitMillis: z.int().min(10).max(64_000).default(1000),
    processLimit: z.int().min(1).max(1024).default(64),
    diskLimitBytes: z
      .int()
      .min(16 * mebibyte)
      .max(65_536 * mebibyte)
      .default(1024 * mebibyte),
    inodeLimit: z.int().min(1024).max(16_777_216).default(65_536),
    ioReadBytesPerSecond: z
      .int()
      .min(mebibyte)
      .max(4096 * mebibyte)
      .default(64 * mebibyte),
    ioWriteBytesPerSecond: z
      .int()
      .min(mebibyte)
      .max(4096 * mebibyte)
      .default(64 * mebibyte),
    tmpLimitBytes: z
      .int()
      .min(mebibyte)
      .max(1024 * mebibyte)
      .default(16 * mebibyte),
  })
  .describe('the cell of `isolation: cell`')

/** One entry of `spec.actions`. */
export const actionSchema = z.strictObject({
  kind: z.enum(actionKinds),
  description: z.string().optional(),
  with: jsonObject.optional().describe('defaults of the input of every task that uses the action'),
  idempotency: z.enum(idempotencies).optional(),
  command: z.string().min(1).optional().describe('program of a process action; no shell'),
  args: z.array(z.string()).default([]),
  cwd: z.string().min(1).default('.').describe('workspace-relative'),
  env: z
    .record(z.string(), secretReference)
    .default({})
    .describe('variable of the child -> where its value is read from'),
  timeoutSeconds: timeoutSeconds.optional(),
  stdoutLimitBytes: outputLimit.optional().describe('1 MiB unless set'),
  stderrLimitBytes: outputLimit.optional().describe('1 MiB unless set'),
  combinedOutputLimitBytes: outputLimit.optional().describe('2 MiB unless set'),
  artifacts: z.array(z.string().min(1)).default([]).describe('globs of files to keep across a pause'),
  isolation: z.enum(isolations).default('process'),
  container: container.optional(),
  cell: cell.optional(),
  protocolVersion: z.string().optional().describe(`of an extension: ${extensionProtocol}`),
  inputSchema: jsonSchemaSchema
    .optional()
    .describe('JSON Schema, draft 2020-12, that the input satisfies before anything runs'),
  outputSchema: jsonSchemaSchema.optional().describe('JSON Schema, draft 2020-12, that the output satisfies'),
  capabilities: z.array(z.string().min(1)).default([]).describe('what an extension declares of itself, in its order'),
})
export type Action = z.output<typeof actionSchema>
