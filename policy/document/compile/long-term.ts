import { isLongTermMemory } from '../../effect.ts'
import type { PlanLongTerm, PlanTask } from '../plan.ts'
import { bounds } from '../schema/common.ts'
import type { Work } from './work.ts'

/** The namespace that the plan's tasks read and write, with the defaults where the document names none; absent where no task does. */
export function longTermOf(
  { document, floor, reporter }: Work,
  tasks: readonly Pick<PlanTask, 'action'>[],
): { longTerm?: PlanLongTerm } {
  if (!tasks.some(({ action }) => isLongTermMemory(action.kind))) return {}
  const { namespace = 'default', retentionDays = null } = document.workflow.spec.memory.longTerm ?? {}
  if (namespace.length > bounds.nameCharacters)
    reporter.report(['spec', 'memory', 'longTerm', 'namespace'], {
      code: 'schema_violation',
      message: `a namespace has at most ${bounds.nameCharacters} characters; this one has ${namespace.length}`,
      help: 'shorten it',
    })
  // Also where the document declares nothing: what the floor bounds is never kept for good.
  const limit = floor?.limits?.['retentionDays']
  const bounded =
    limit === undefined ? retentionDays : Math.min(retentionDays ?? Infinity, Math.max(1, Math.floor(limit)))
  return { longTerm: { namespace, retentionDays: bounded } }
}
