import { z } from 'zod'
import { effectClasses, idempotencies, risks } from '../../effect.ts'
import { jsonObject, jsonSchemaSchema, name, relativePath, retry, secretReference, timeoutSeconds } from './common.ts'

/** One entry of `spec.providers`. */
export const providerSchema = z.lazy(() =>
  z.strictObject({
    kind: z.enum(['fake', 'openai', 'azure_openai', 'anthropic', 'google']),
    endpoint: z.string().min(1).optional(),
    credential: secretReference.optional(),
    apiVersion: z.string().min(1).optional(),
    headers: z.record(z.string(), secretReference).default({}),
  }),
)

const reasoning = z.strictObject({
  effort: z.enum(['none', 'low', 'medium', 'high', 'xhigh', 'max']),
  mode: z.string().optional(),
})

const usageLimit = z.strictObject({
  maxInputTokens: z.int().min(1).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  maxCostUsd: z.number().min(0).optional(),
})

/** One entry of `spec.agents`. */
export const agentSchema = z.lazy(() =>
  z.strictObject({
    provider: name,
    model: z.string().min(1),
    description: z.string().optional(),
    instructions: z.string().optional(),
    instructionsFile: relativePath.optional(),
    vars: jsonObject.default({}),
    varsFiles: z.array(relativePath).default([]),
    tools: z.array(z.string().min(1)).default([]).describe('NAME, action:NAME or mcp:SERVER/TOOL'),
    stream: z.boolean().default(false),
    maxTurns: z.int().min(1).max(64).default(8),
    maxToolCalls: z.int().min(0).max(256).default(16),
    maxOutputTokens: z.int().min(1).default(2048),
    timeoutSeconds: timeoutSeconds.default(120),
    retry,
    reasoning: reasoning.optional(),
    structuredOutput: jsonSchemaSchema.optional(),
    usageLimit: usageLimit.optional(),
    providerOptions: jsonObject.default({}),
  }),
)

/** One entry of `spec.tools`. */
export const toolSchema = z.lazy(() =>
  z.strictObject({
    kind: z.enum(['builtin.workspace.read', 'builtin.workspace.write', 'builtin.echo']),
    description: z.string(),
    inputSchema: jsonSchemaSchema,
    outputSchema: jsonSchemaSchema,
    capability: z.string().min(1),
    risk: z.enum(risks),
    effectClass: z.enum(effectClasses),
    idempotency: z.enum(idempotencies),
    retrySafe: z.boolean(),
    timeoutSeconds,
    secrets: z.array(secretReference).default([]),
    network: z.array(z.string().min(1)).default([]),
    approval: z.enum(['policy', 'never', 'always']).default('policy'),
  }),
)
