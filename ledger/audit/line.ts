import { z } from 'zod'
import { digestSchema, jsonSchema } from '../payload.ts'

/** One line of an export. */
export const auditLineSchema = z.strictObject({
  v: z.literal(1),
  ledger: z.string().min(1),
  chain: z.string().regex(/^(ledger|run\/.+)$/),
  seq: z.int().min(1),
  at: z.iso.datetime(),
  actor: z.string(),
  type: z.string(),
  subject: z.string(),
  dataDigest: digestSchema,
  previous: digestSchema,
  hash: digestSchema,
  salt: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  data: z.record(z.string(), jsonSchema).optional(),
})

/** The place alone. */
export const placeSchema = z.object({ chain: z.string(), seq: z.int() })
