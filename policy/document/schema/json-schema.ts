import { z } from 'zod'
import { securityFloorSchema } from '../../decision/read-floor.ts'
import type { Json, JsonObject } from '../../json.ts'
import { packSchema } from '../packs/schema.ts'
import { applyNotes, isObject, type Notes, resolve } from './notes/apply.ts'
import { floorNotes } from './notes/floor.ts'
import { packNotes, workflowNotes } from './notes/workflow.ts'
import { workflowSchema } from './workflow.ts'

/** JSON Schema (draft 2020-12) of a document as written, made from the schema that checks it. */
export function workflowJsonSchema(): JsonObject {
  return made(workflowSchema, 'agentctl Workflow', workflowNotes)
}

/** The same of a pack's manifest. */
export function packJsonSchema(): JsonObject {
  return made(packSchema, 'agentctl pack', packNotes)
}

/** The same of a SecurityFloor. */
export function floorJsonSchema(): JsonObject {
  return made(securityFloorSchema, 'agentctl SecurityFloor', floorNotes)
}

function made(schema: z.ZodType, title: string, notes: Notes): JsonObject {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-2020-12',
    reused: 'ref',
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // A name of zod's own; the pattern beside it says the same.
      if (String(jsonSchema.format) === 'starts_with') delete jsonSchema.format
    },
  }) as JsonObject
  applyNotes(json, notes)
  takeBareScalars(json, json)
  return { ...json, title }
}

/** In a list of texts a bare scalar takes its source text (01): an editor must not underline `[true]` there. */
function takeBareScalars(root: JsonObject, node: Json): void {
  if (Array.isArray(node)) for (const item of node) takeBareScalars(root, item)
  if (!isObject(node)) return
  const { items } = node
  if (isObject(items)) {
    const item = resolve(root, items)
    if (item['type'] === 'string' && item['enum'] === undefined && item['const'] === undefined)
      node['items'] = { ...item, ...without(items), type: ['string', 'number', 'boolean', 'null'] }
  }
  for (const value of Object.values(node)) takeBareScalars(root, value)
}

function without({ $ref: _, ...rest }: JsonObject): JsonObject {
  return rest
}
