import type { RunSnapshot } from '../ledger/port.ts'
import { approvalsBeneath } from '../policy/approval/index.ts'
import type { Floor, FloorViolation } from '../policy/decision/index.ts'
import { beneathRepositoryRules, beyondFloor } from '../policy/document/index.ts'
import type { Plan } from '../policy/document/plan.ts'

/**
 * What of a recorded run the floor of now does not let go on: its plan, its job, and what was approved and has not run.
 * A face asks this before it resumes the run; any violation keeps the whole run from going on.
 * @param job null at a terminal, which no rule about repositories binds
 */
export function stricterFloor(
  snapshot: RunSnapshot,
  floor: Floor | null,
  job: { repository: string; workflowRef: string } | null,
): FloorViolation[] {
  const plan = snapshot.plan as unknown as Plan
  const notRun = new Set(snapshot.effects.flatMap(({ state, approval }) => (state === 'requested' ? approval : [])))
  const approved = snapshot.pauses.flatMap(({ items }) => items).filter(({ id }) => notRun.has(id))
  return [
    ...beyondFloor(plan, floor),
    ...(job === null ? [] : beneathRepositoryRules(plan, floor, job)),
    ...approvalsBeneath(floor, approved, snapshot.record.requesters),
  ]
}
