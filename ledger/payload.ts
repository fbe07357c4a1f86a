import { z } from 'zod'
import type { Json } from '../policy/json.ts'

export const digestSchema = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in 64 lower-case hex digits')
export const jsonSchema: z.ZodType<Json> = z.json() as z.ZodType<Json>

/** JSON up to 64 KiB stands in its row; anything larger is a blob of the same ledger, by digest (05, Durable). */
export const inlineLimitBytes = 65_536

/** Blob parts are 512 KiB; the last one may be shorter. */
export const blobPartBytes = 524_288

export const blobRefSchema = z.strictObject({ sha256: digestSchema, bytes: z.int().min(0) })
export type BlobRef = z.infer<typeof blobRefSchema>

/** A JSON value in its row, or the blob that holds its UTF-8 text. */
export const payloadSchema = z.union([z.strictObject({ inline: jsonSchema }), z.strictObject({ blob: blobRefSchema })])
export type Payload = z.infer<typeof payloadSchema>
