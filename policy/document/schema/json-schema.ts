import { z } from 'zod'
import type { Json } from '../../json.ts'
import { workflowSchema } from './workflow.ts'

/** JSON Schema (draft 2020-12) of a document as written, made from the schema that checks it. */
export function workflowJsonSchema(): Json {
  const schema = z.toJSONSchema(workflowSchema, {
    io: 'input',
    target: 'draft-2020-12',
    reused: 'ref',
    unrepresentable: 'any',
  })
  return { ...(schema as { [key: string]: Json }), title: 'agentctl Workflow' }
}
