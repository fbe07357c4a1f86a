import type { FloorViolation } from '../decision/effective.ts'
import type { Floor } from '../decision/floor.ts'
import { isListed } from '../decision/meet.ts'
import type { ApprovalRecord, Person } from './record.ts'

/**
 * Approvals of effects that have not run yet which the floor of now does not take any more: it wants more people, others,
 * or nobody who asked for the run. What only GitHub knows, a permission and a team's members, was asked at the decision,
 * under the floor of that moment; it is not asked again.
 * @param approved approved items whose effects have not started
 */
export function approvalsBeneath(
  floor: Floor | null,
  approved: readonly ApprovalRecord[],
  requesters: readonly { id: number }[],
): FloorViolation[] {
  if (floor === null) return []
  const needed = floor.minimumApprovals ?? 1
  const asked = new Set<number | null>(floor.preventSelfApproval ? requesters.map(({ id }) => id) : [])
  return approved.flatMap(({ number, task, resolution }) => {
    const by = resolution?.by ?? []
    const counted = by.filter(person => !(person.id !== null && asked.has(person.id)) && mayBeListed(floor, person))
    if (counted.length >= needed) return []
    const rule = by.length < needed ? 'minimumApprovals' : ruleOf(floor, by)
    const who = by.map(({ login }) => login).join(', ')
    const set = floor.setBy?.[rule]?.join(' and ') ?? 'floor'
    const message = `item ${number} (task ${task}) was approved by ${who}; ${rule} of the floor set by ${set} takes ${counted.length} of the ${needed} approvals that it wants now; start a new run`
    return [{ field: rule, message, floor: set }]
  })
}

/** Where teams are listed too, only GitHub can tell. */
function mayBeListed({ approvers }: Floor, { id, login }: Person): boolean {
  if (!isListed(approvers) || (approvers.teams ?? []).length > 0) return true
  return (approvers.users ?? []).some(
    user => user.login.toLowerCase() === login.toLowerCase() && (user.id === null || user.id === id),
  )
}

function ruleOf(floor: Floor, by: readonly Person[]): 'approvers' | 'preventSelfApproval' {
  return by.every(person => mayBeListed(floor, person)) ? 'preventSelfApproval' : 'approvers'
}
