import type { Plan, SecretReference } from '../../policy/document/plan.ts'

/** Every secret reference that a run of the plan may read. */
export function referencesOf(plan: Plan): SecretReference[] {
  const ofActions = Object.values(plan.tasks)
    .flatMap(task => (task.compensate === undefined ? [task.action] : [task.action, task.compensate.action]))
    .flatMap(({ process }) => Object.values(process?.env ?? {}))
  const { customCa } = plan.effectivePolicy.network.value
  return customCa === null ? ofActions : [...ofActions, customCa]
}
