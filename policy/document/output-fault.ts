import type { Json } from '../json.ts'
import { loadJsonSchemas } from '../json-schema/load.ts'
import type { SchemaError } from '../json-schema/types.ts'
import type { PlanTask } from './plan.ts'

/** Errors of a value in one line, each with its place. */
export function describeErrors(errors: readonly SchemaError[]): string {
  return errors.map(({ path, message }) => `${path === '' ? 'it' : path} ${message}`).join('; ')
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
