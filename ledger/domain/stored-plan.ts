import type { Plan, PlanControl } from '../../policy/document/plan.ts'
import { resolve } from '../blobs.ts'
import type { Payload } from '../payload.ts'
import { Cells } from '../sql/cells.ts'
import type { RunChange } from './change.ts'

/**
 * The plan of a run, read where the ledger itself must follow up on what people or the clock decided. Of plans of an
 * earlier format it knows nothing.
 */
export class StoredPlan {
  readonly #change: RunChange
  #plan: Partial<Pick<Plan, 'tasks' | 'compensation'>> | null = null

  constructor(change: RunChange) {
    this.#change = change
  }

  /** Read at the first question: most ends ask none. */
  get #stored(): Partial<Pick<Plan, 'tasks' | 'compensation'>> {
    this.#plan ??= read(this.#change)
    return this.#plan
  }

  controlOf(task: string): PlanControl | undefined {
    return this.#stored.tasks?.[task]?.control
  }

  /** Whether a run that failed is undone without anybody asking for it. */
  get undoesByItself(): boolean {
    return this.#stored.compensation?.onFailure === 'automatic'
  }

  /** Whether the document says how a task is undone. */
  canUndo(task: string): boolean {
    return this.#stored.tasks?.[task]?.compensate !== undefined
  }
}

function read(change: RunChange): Partial<Pick<Plan, 'tasks' | 'compensation'>> {
  const [row] = change.sql.all('SELECT plan FROM runs WHERE run = ?', change.run)
  const plan = row === undefined ? null : resolve(change.context, new Cells(row).json<Payload>())
  if (typeof plan !== 'object' || plan === null || Array.isArray(plan)) return {}
  return plan as unknown as Partial<Pick<Plan, 'tasks' | 'compensation'>>
}
