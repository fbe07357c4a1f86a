import { z } from 'zod'
import { policySchema } from '../../decision/schema.ts'
import { actionSchema } from './action.ts'
import { agentSchema, providerSchema, toolSchema } from './agent.ts'
import { integrity, jsonObject, name, relativePath, secretReference, timeoutSeconds } from './common.ts'
import { subworkflowSchema, taskSchema } from './task.ts'

/** Items that most documents have none of are lazy: their schemas are made when the first one is met. */
const named = <Item extends z.ZodType>(item: Item) => z.record(name, item).prefault({})
const count = z.int().min(0)

const memory = z
  .strictObject({
    working: jsonObject.default({}).describe('working memory at the start of a run'),
    longTerm: z
      .strictObject({
        provider: z.literal('sqlite').default('sqlite'),
        namespace: z.string().min(1).default('default'),
        retentionDays: z.int().min(1).max(36_500).optional(),
        embedding: z.unknown().optional(),
      })
      .optional(),
  })
  .prefault({})

const mcpServer = z.lazy(() =>
  z.strictObject({
    url: z.string().min(1),
    headers: z.record(z.string(), secretReference).default({}),
    timeoutSeconds: timeoutSeconds.default(120),
    protocolVersion: z.string().default('2025-11-25'),
  }),
)

const a2aPeer = z.lazy(() =>
  z.strictObject({
    cardUrl: z.string().min(1),
    headers: z.record(z.string(), secretReference).default({}),
    timeoutSeconds: timeoutSeconds.default(120),
    maxPolls: z.int().min(1).max(1000).default(100),
    pollIntervalMs: z.int().min(1).max(60_000).default(100),
    protocolVersion: z.string().default('1.0'),
  }),
)

const pack = z.lazy(() =>
  z.strictObject({
    name,
    version: z.string().min(1).describe('a version range'),
    source: z.strictObject({ path: relativePath }),
    integrity: integrity.optional(),
  }),
)

const packTrust = z
  .strictObject({
    unsigned: z.enum(['deny', 'warn', 'allow']).default('warn'),
    allowUnsignedProcess: z.boolean().default(false),
  })
  .prefault({})

const compensation = z
  .strictObject({
    onFailure: z.enum(['manual', 'automatic']).default('manual'),
    approval: z.enum(['policy', 'never', 'always']).default('policy'),
  })
  .prefault({})

/** Bounds of a whole run; those that count tokens or requests matter only with agents. */
export const budgetsSchema = z.strictObject({
  maxProviderRequests: count.optional(),
  maxTurns: count.optional(),
  maxToolCalls: count.optional(),
  maxInputTokens: count.optional(),
  maxOutputTokens: count.optional(),
  maxTotalTokens: count.optional(),
  maxWallTimeSeconds: z.int().min(1).optional(),
  maxProcessOutputBytes: count.optional(),
  maxArtifactBytes: count.optional(),
  maxTasks: z.int().min(1).optional(),
  maxExpansionItems: count.optional(),
  maxLoopIterations: count.optional(),
  maxCostMicrousd: count.optional(),
})

const modelPrice = z.lazy(() =>
  z.strictObject({
    inputMicrousdPerMillionTokens: count,
    outputMicrousdPerMillionTokens: count,
    reasoningMicrousdPerMillionTokens: count.optional(),
    cacheReadMicrousdPerMillionTokens: count.optional(),
    cacheWriteMicrousdPerMillionTokens: count.optional(),
  }),
)

const runtime = z
  .strictObject({
    maxConcurrency: z.int().min(1).max(64).default(1),
    defaultTimeoutSeconds: timeoutSeconds.default(120),
    budgets: budgetsSchema.prefault({}),
    pricing: z.strictObject({ version: z.string().min(1), models: z.record(z.string(), modelPrice) }).optional(),
  })
  .prefault({})

const output = z.strictObject({ verbose: z.boolean().default(false), showDiff: z.boolean().default(true) }).prefault({})

/** `spec` of a Workflow. */
export const specSchema = z.strictObject({
  inputs: jsonObject.default({}).describe('inputs of a run, each with its default value'),
  outputs: jsonObject.default({}).describe('templates of the final outputs'),
  varsFiles: z.array(relativePath).default([]).describe('YAML or JSON files of non-secret configuration'),
  vars: jsonObject.default({}).describe('non-secret configuration'),
  providers: named(providerSchema),
  agents: named(agentSchema),
  actions: named(actionSchema),
  tools: named(toolSchema),
  subworkflows: named(subworkflowSchema),
  tasks: z.array(taskSchema).min(1, 'at least one task').describe('the graph'),
  policy: policySchema.prefault({}),
  memory,
  mcpServers: named(mcpServer),
  a2aPeers: named(a2aPeer),
  packs: z.array(pack).default([]),
  packTrust,
  compensation,
  runtime,
  output,
})
export type Spec = z.output<typeof specSchema>
