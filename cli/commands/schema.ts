import { workflowJsonSchema } from '../../policy/document/index.ts'
import type { Handler } from '../command.ts'
import { exits } from '../failure.ts'

/** `schema`: the JSON Schema of documents. */
export const schema: Handler = async () => {
  const data = workflowJsonSchema()
  const lines = JSON.stringify(data, null, 2).split('\n')
  return { kind: 'Schema', exitCode: exits.done, data: { schema: data }, findings: [], lines }
}
