import type { LedgerFact } from '../facts.ts'
import { type Answer, allow } from '../question.ts'

/**
 * Long-term memory lies in the repository's own ledger: no file, process or host is reached, and the namespace comes from
 * the plan. Who may write it at all is for the lists of tools and for the approval to say.
 */
export function ledgerResource({ namespace, key }: LedgerFact): Answer {
  return allow('resource', 'own_ledger', key === null ? namespace : `${namespace}/${key}`, 'runtime')
}
