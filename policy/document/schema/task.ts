import { z } from 'zod'
import type { Json } from '../../json.ts'
import { jsonObject, jsonSchemaSchema, relativePath, retry, taskId, timeoutSeconds } from './common.ts'

const maxItems = z.int().min(1).max(256).default(32)

/** A list, or one template that gives a list. The parser has made sure that it holds JSON only. */
const items = z
  .custom<Json[] | string>(value => Array.isArray(value) || (typeof value === 'string' && value.includes('${{')), {
    error: 'must be a list, or a template that gives one',
  })
  .meta({ type: ['array', 'string'] })

/** A value of any type that is taken as it is. */
const anyJson = z.custom<Json>(value => value !== undefined, { error: 'must be a value' }).meta({})

const foreach = z.strictObject({
  items,
  as: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/)
    .default('item'),
  maxItems,
})

const matrix = z.strictObject({ axes: z.record(z.string().min(1), items), maxItems })

const route = z.strictObject({
  select: z.string().min(1),
  cases: z.array(z.strictObject({ equals: anyJson, tasks: z.array(taskId) })),
  default: z.array(taskId).default([]),
})

const loop = z.strictObject({
  maxIterations: z.int().min(1).max(64),
  while: z.string().min(1),
  initial: anyJson.optional(),
})

const compensate = z.strictObject({
  uses: z.string().min(1),
  with: jsonObject.default({}),
  retry,
  timeoutSeconds: timeoutSeconds.optional(),
})

/** One entry of `spec.tasks`. */
export const taskSchema = z.strictObject({
  id: taskId,
  uses: z.string().min(1).describe('action:NAME, agent:NAME, workflow:NAME or router'),
  needs: z.array(taskId).optional().describe('tasks that must have ended before this one starts'),
  foreach: foreach.optional(),
  matrix: matrix.optional(),
  route: route.optional(),
  loop: loop.optional(),
  memoryWrites: z.array(z.string().min(1)).optional().describe('working-memory keys that the task may write'),
  when: z.string().min(1).optional().describe('a condition; the task is skipped where it is false'),
  vars: jsonObject.optional(),
  varsFiles: z.array(relativePath).optional(),
  with: jsonObject.optional().describe('input of the action, over its defaults'),
  retry: retry.optional(),
  timeoutSeconds: timeoutSeconds.optional(),
  failure: z.enum(['stop', 'continue']).default('stop'),
  compensate: compensate.optional(),
  outputSchema: jsonSchemaSchema.optional(),
})
export type Task = z.output<typeof taskSchema>

/** One entry of `spec.subworkflows`. */
export const subworkflowSchema = z.lazy(() =>
  z.strictObject({
    version: z.string().min(1),
    inputs: jsonObject.default({}),
    inputSchema: jsonSchemaSchema.default(true),
    outputs: jsonObject.default({}),
    outputSchema: jsonSchemaSchema.default(true),
    tasks: z.array(taskSchema).min(1),
  }),
)
