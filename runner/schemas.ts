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

/**
 * Why a result that a person vouches for cannot be the output of an effect's task, null where it can. It stands in for
 * what an extension would have replied, so its own schema holds too.
 */
export async function resultFault(task: PlanTask, result: Json): Promise<string | null> {
  const { extension } = task.action
  const own = extension === undefined ? null : await fault(extension.outputSchema, 'extension', result)
  return own ?? (await outputFault(task, result))
}

/** Why a task's output does not satisfy the schemas declared for it, null where it does. */
export async function outputFault({ action, outputSchema }: PlanTask, output: Json): Promise<string | null> {
  if (action.outputSchema === undefined && outputSchema === undefined) return null
  return (await fault(action.outputSchema, 'action', output)) ?? (await fault(outputSchema, 'task', output))
}

async function fault(schema: Json | undefined, owner: string, output: Json): Promise<string | null> {
  if (schema === undefined) return null
  const { validate } = await loadJsonSchemas()
  const checked = validate(schema, output)
  return checked.ok
    ? null
    : `the output does not satisfy outputSchema of the ${owner}: ${describeErrors(checked.errors)}`
}
