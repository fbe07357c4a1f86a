import type { CommandOf, LeaseCommand } from '../../ledger/commands.ts'
import { bindingDigest, effectId } from '../../policy/binding.ts'
import { sha256 } from '../../policy/canonical.ts'
import type { Json } from '../../policy/json.ts'
import { commandId, move, request } from '../ledger/support/commands.ts'

const operation = 'builtin.long_term_memory.write'

export function writeEffectOf(run: string, task: string): string {
  return effectId({ run, task, attempt: 1, ordinal: 0, operation, inputDigest: sha256(`input of ${task}`) })
}

/** One boundary of a task that writes long-term memory: request, start, finish with the value, the task's move. */
export function writing(
  run: string,
  task: string,
  item: { key: string; value: Json; namespace?: string; retentionDays?: number | null },
  more: Partial<Omit<CommandOf<'effect.finish'>, 'type'>> = {},
): LeaseCommand[] {
  const effect = writeEffectOf(run, task)
  const binding = {}
  const asked = { ...request(run, task, 'allow', { binding }), effect, operation, tool: 'long_term_memory.write' }
  const { key, value, namespace = 'default', retentionDays = null } = item
  return [
    asked,
    { id: commandId(), type: 'effect.start', effect, bindingDigest: bindingDigest(binding) },
    {
      id: commandId(),
      type: 'effect.finish',
      effect,
      to: 'succeeded',
      result: { inline: { key } },
      error: null,
      artifacts: [],
      longTerm: { namespace, key, value: { inline: value }, retentionDays },
      ...more,
    },
    move(task, 'succeeded'),
  ]
}
