/** What an effect does to the world; `approval: mutations` and idempotency rules are stated over these. */
export const effectClasses = [
  'pure',
  'observe',
  'internal_state',
  'workspace_mutate',
  'external_mutate',
  'process_execution',
  'remote_agent',
  'model',
] as const
export type EffectClass = (typeof effectClasses)[number]

export const risks = ['low', 'medium', 'high', 'critical'] as const
export type Risk = (typeof risks)[number]

export const idempotencies = ['pure', 'idempotent', 'keyed', 'at_most_once', 'unknown'] as const
export type Idempotency = (typeof idempotencies)[number]

export const isolations = ['process', 'container', 'cell'] as const
export type Isolation = (typeof isolations)[number]

/** As it is shown wherever a program is: a host process is bounded, and nothing more. */
export function shownIsolation(isolation: Isolation): string {
  return isolation === 'process' ? 'process, not a sandbox' : isolation
}

/** Whether an action works on the long-term memory, which the ledger keeps: nothing beyond the ledger is reached. */
export function isLongTermMemory(operation: string): boolean {
  return operation.startsWith('builtin.long_term_memory.')
}

export const predictabilities = ['full', 'partial', 'none'] as const
export type Predictability = (typeof predictabilities)[number]
