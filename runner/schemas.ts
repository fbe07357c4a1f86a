import type { PlanAction, PlanTask } from '../policy/document/plan.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import { loadJsonSchemas } from '../policy/json-schema/load.ts'
import type { SchemaError } from '../policy/json-schema/types.ts'
import { ExecutorError } from './executor.ts'

/** Errors of a value in one line, each with its place. */
export function describeErrors(errors: readonly SchemaError[]): string {
  return errors.map(({ path, message }) => `${path === '' ? 'it' : path} ${message}`).join('; ')
}

/** Holds a resolved input to the schema that its action declares. Throws ExecutorError `invalid_input`. */
export async function checkInput(action: PlanAction, input: JsonObject): Promise<void> {
  const schema = action.extension?.inputSchema ?? action.inputSchema
  if (schema === undefined) return
  const { validate } = await loadJsonSchemas()
  const checked = validate(schema, input)
  if (checked.ok) return
  throw new ExecutorError(
    'invalid_input',
    `the input of action ${action.name} does not satisfy its inputSchema: ${describeErrors(checked.errors)}`,
  )
}

/** Why a task's output does not satisfy the schemas declared for it, null where it does. */
export async function outputFault({ action, outputSchema }: PlanTask, output: Json): Promise<string | null> {
  for (const [schema, owner] of [
    [action.outputSchema, 'action'],
    [outputSchema, 'task'],
  ] as const) {
    if (schema === undefined) continue
    const { validate } = await loadJsonSchemas()
    const checked = validate(schema, output)
    if (!checked.ok)
      return `the output does not satisfy outputSchema of the ${owner}: ${describeErrors(checked.errors)}`
  }
  return null
}
