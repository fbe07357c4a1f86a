import { z } from 'zod'
import { actionSchema } from '../schema/action.ts'
import { agentSchema, toolSchema } from '../schema/agent.ts'
import { integrity, name, relativePath } from '../schema/common.ts'
import { subworkflowSchema } from '../schema/task.ts'

/** The one version of the manifest. */
export const packApiVersion = 'agentctl.dev/pack/v1alpha1'

const packName = name.regex(
  /^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$/,
  'parts of letters, digits, `_` and `-`, joined by dots',
)

const dependency = z
  .strictObject({
    version: z.string().min(1).describe('range of versions that will do, `^1.0`'),
    source: z
      .strictObject({ path: relativePath.describe("manifest of the pack, relative to the document's directory") })
      .describe('where the pack lies; local files only'),
    integrity: integrity.optional(),
  })
  .describe('another pack whose items this one uses as `PACK.NAME`')

const named = <Item extends z.ZodType>(item: Item) => z.record(name, item).prefault({})

/**
 * A pack: definitions that documents share. It has no field for policy, memory, budgets or trust: what its items may do
 * is decided by the document alone.
 */
export const packSchema = z.lazy(() =>
  z.strictObject({
    apiVersion: z.literal(packApiVersion).describe('version of this manifest'),
    name: packName.describe('as documents declare it; its items are used as `NAME.ITEM`'),
    version: z
      .string()
      .max(200)
      .regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/, 'a version has three numbers, `1.2.0`')
      .describe('semantic version of this pack'),
    agentctl: z.string().min(1).describe('range of versions of the document language that it was written for'),
    dependencies: z.record(packName, dependency).prefault({}).describe('other packs by name'),
    capabilities: z
      .array(z.string().min(1))
      .default([])
      .describe('what the pack says that it is for; information, grants nothing'),
    providers: z
      .array(z.string().min(1))
      .default([])
      .describe('providers that its agents need, each a name or kind of `spec.providers` of the document'),
    actions: named(actionSchema).describe('actions by name, used as `action:PACK.NAME`'),
    agents: named(agentSchema).describe('agents by name, used as `agent:PACK.NAME`'),
    tools: named(toolSchema).describe('tools by name'),
    workflows: named(subworkflowSchema).describe('sub-workflows by name, used as `workflow:PACK.NAME`'),
  }),
)
export type PackManifest = z.output<typeof packSchema>
