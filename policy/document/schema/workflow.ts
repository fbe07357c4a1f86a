import { z } from 'zod'
import { specSchema } from './spec.ts'

/** The current version of the language, and the older one that is read with a warning. */
export const apiVersion = 'agentctl.dev/v1'
export const oldApiVersion = 'agentctl.dev/v1alpha1'

const metadata = z.strictObject({
  name: z.string().min(1).max(200),
  description: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
})

/** A whole document: the one source of its types, its checks and its JSON Schema. */
export const workflowSchema = z.strictObject({
  apiVersion: z.enum([apiVersion, oldApiVersion]),
  kind: z.literal('Workflow'),
  metadata,
  spec: specSchema,
})
export type Workflow = z.output<typeof workflowSchema>
