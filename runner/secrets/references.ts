import type { Plan, SecretReference } from '../../policy/document/plan.ts'

/** Every secret reference that a run of the plan may read, in its compensations too. */
export function referencesOf(plan: Plan): SecretReference[] {
  const actions = Object.values(plan.tasks).flatMap(({ action, compensate }) => [action, compensate?.action])
  const ofActions = actions.flatMap(action => Object.values(action?.process?.env ?? {}))
  const { customCa } = plan.effectivePolicy.network.value
  return customCa === null ? ofActions : [...ofActions, customCa]
}
