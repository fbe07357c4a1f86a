import { describeErrors } from '../policy/document/output-fault.ts'
import type { PlanAction } from '../policy/document/plan.ts'
import type { JsonObject } from '../policy/json.ts'
import { loadJsonSchemas } from '../policy/json-schema/load.ts'
import { ExecutorError } from './executor.ts'

/** Holds a resolved input to the schema that its action declares. Throws ExecutorError `invalid_input`. */
export async function checkInput(action: PlanAction, input: JsonObject): Promise<void> {
  const schema = action.extension?.inputSchema ?? action.inputSchema
  if (schema === undefined) return
  const { validate } = await loadJsonSchemas()
  const checked = validate(schema, input)
  if (checked.ok) return
  throw new ExecutorError(
    'invalid_input',
    `the input of action ${action.name} does not satisfy its inputSchema: ${describeErrors(checked.errors)}; correct \`with\`, or the schema`,
  )
}
