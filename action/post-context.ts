import type { RunSnapshot } from '../ledger/port.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { RunState } from '../policy/states.ts'
import type { ActionContext } from './context.ts'
import { secretsOf } from './guard.ts'
import type { LeftState } from './state.ts'

/** All that the post step works with once it has something to settle. */
export type PostContext = Omit<ActionContext, 'progress' | 'state'> & { left: LeftState }

/** What the post step found of main's run, and made of it. */
export interface Settled {
  run: string | null
  /** How it stands now; null where nothing is recorded of it. */
  state: RunState | null
  /** One line each, for a person. */
  messages: string[]
}

/** Values that a recorded run's plan reads: known before anything of the record is shown. */
export function secretsOfRun({ plan }: RunSnapshot, environment: ActionContext['environment']): (string | undefined)[] {
  return secretsOf(plan as unknown as Plan, environment)
}
