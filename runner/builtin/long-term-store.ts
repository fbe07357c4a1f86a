import type { Ledger, LongTermItem } from '../../ledger/port.ts'
import type { Plan } from '../../policy/document/plan.ts'
import { ExecutorError } from '../executor.ts'

/** The long-term memory as a run sees it: its document's namespace of its repository's ledger. */
export interface LongTermStore {
  namespace: string
  /** From the write; null = for good. */
  retentionDays: number | null
  /** null in a prediction, which looks at no ledger. */
  values: LongTermValues | null
}

export interface LongTermValues {
  /** null where there is no such key, or its time is over. */
  read(key: string): Promise<LongTermItem | null>
  search(query: string, limit: number): Promise<LongTermItem[]>
}

/** Repeats a call of the ledger as the run repeats its own. */
type Patience = <Answer>(call: () => Promise<Answer>) => Promise<Answer>

/** The namespace of a plan; a plan that names none has no task that asks for it. */
export function longTermStore({ longTerm }: Plan, values: LongTermValues | null): LongTermStore {
  return longTerm === undefined ? nothingKept : { ...longTerm, values }
}

/** For a plan without long-term memory. */
export const nothingKept: LongTermStore = { namespace: 'default', retentionDays: null, values: null }

/**
 * The values of a namespace, read through the run's own ledger. `flush` commits what the run has carried so far, so that
 * it reads what it wrote.
 */
export function openLongTerm(
  ledger: Ledger,
  { longTerm }: Plan,
  { flush, patiently }: { flush: () => Promise<void>; patiently: Patience },
): LongTermValues {
  const namespace = longTerm?.namespace ?? 'default'
  return {
    async read(key) {
      const memory = servedBy(ledger)
      await flush()
      return patiently(() => memory.read(namespace, key))
    },
    async search(query, limit) {
      const memory = servedBy(ledger)
      await flush()
      return patiently(() => memory.search(namespace, query, limit))
    },
  }
}

function servedBy({ longTerm }: Ledger): NonNullable<Ledger['longTerm']> {
  if (longTerm !== undefined) return longTerm
  throw new ExecutorError(
    'unsupported_capability',
    'this control plane gives jobs no long-term memory to read; use a version that does, or a run with a ledger of its own',
  )
}
