import type { CompiledTask, Work } from '../compile/work.ts'

const fieldsOfActions = ['with', 'memoryWrites', 'retry', 'timeoutSeconds', 'compensate'] as const
type FieldOfActions = (typeof fieldsOfActions)[number]

/** Refuses fields that say how an action is done where a task uses none: `what` it is instead. */
export function refuseFieldsOfActions(
  work: Work,
  { task, path }: CompiledTask,
  { what, help, allowed }: { what: string; help: string; allowed: readonly FieldOfActions[] },
): void {
  for (const field of fieldsOfActions) {
    const { retry } = task
    // Left out, it has its defaults.
    const isWritten =
      field === 'retry' ? retry !== undefined && retry.maxAttempts + retry.backoffMs > 1 : task[field] !== undefined
    if (!isWritten || allowed.includes(field)) continue
    work.reporter.report([...path, field], {
      code: 'schema_violation',
      message: `\`${field}\` has no meaning for ${what}`,
      help,
      on: 'key',
    })
  }
}
