import { canonical } from '../canonical.ts'
import { type FloorViolation, underHostFloor } from '../decision/effective.ts'
import { type Floor, floorDigest } from '../decision/floor.ts'
import { matchesGlob } from '../decision/globs.ts'
import type { Policy } from '../decision/policy.ts'
import { isolations } from '../effect.ts'
import type { Json } from '../json.ts'
import { uncapturedOf } from './compile/capture.ts'
import { setBy } from './compile/floor-limits.ts'
import { indexed } from './compile/graph.ts'
import type { Plan } from './plan.ts'
import { numbersOf } from './plan-numbers.ts'

/**
 * What of a stored plan the floor of now would not let through: a run is never recompiled, so each is a reason not to go
 * on with it. Nothing where the floor is the one that the plan was made under. What a floor says of approvals is
 * `approvalsBeneath`, of repositories `beneathRepositoryRules`; `searchPath` is asked at each decision anew.
 */
export function beyondFloor(plan: Plan, floor: Floor | null): FloorViolation[] {
  if (floor === null || plan.floorDigest === floorDigest(floor)) return []
  return [
    ...policyBeyond(plan, floor),
    ...limitsBeyond(plan, floor),
    ...processesBeyond(plan, floor),
    ...lostBeyond(plan, floor),
  ]
}

/** Which rules of a floor about repositories and their workflows a job breaks; `repository` is `owner/name`. */
export function beneathRepositoryRules(
  plan: Plan,
  floor: Floor | null,
  { repository, workflowRef }: { repository: string; workflowRef: string },
): FloorViolation[] {
  const found: FloorViolation[] = []
  const name = repository.toLowerCase()
  const weaker = plan.processes.find(({ isolation }) => isolation !== 'cell')
  if (weaker !== undefined && floor?.protectedRepositories?.some(glob => matchesGlob(glob.toLowerCase(), name)))
    found.push({
      field: 'protectedRepositories',
      message: `${repository} is a protected repository, and action ${weaker.action} runs in a ${weaker.isolation}; run it in a production cell, nothing weaker is taken instead`,
      floor: setBy(floor, 'protectedRepositories'),
    })
  const refs = floor?.allowedWorkflowRefs
  if (refs !== undefined && !refs.some(glob => matchesGlob(glob, workflowRef)))
    found.push({
      field: 'allowedWorkflowRefs',
      message: `${workflowRef} is not among the floor's allowedWorkflowRefs; run the workflow from an allowed ref`,
      floor: setBy(floor, 'allowedWorkflowRefs'),
    })
  return found
}

/** A field whose value another floor changes, whether the document, a default or the floor of then set it. */
function policyBeyond(plan: Plan, floor: Floor): FloorViolation[] {
  const { policy, violations } = underHostFloor(plan.effectivePolicy, floor)
  const named = new Set(violations.map(({ field }) => field.split('.')[0]))
  const fields = Object.keys(policy) as (keyof Policy)[]
  const silent = fields.filter(field => {
    const [then, now] = [plan.effectivePolicy[field].value, policy[field].value]
    return !named.has(field) && canonical(then as Json) !== canonical(now as Json)
  })
  return [
    ...violations,
    ...silent.map(field => ({
      field,
      message: `policy.${field} is ${JSON.stringify(plan.effectivePolicy[field].value)} in the plan, and the floor set by ${setBy(floor, `policy.${field}`)} leaves ${JSON.stringify(policy[field].value)}; start a new run`,
      floor: setBy(floor, `policy.${field}`),
    })),
  ]
}

function limitsBeyond(plan: Plan, floor: Floor): FloorViolation[] {
  const numbers = numbersOf(plan)
  return Object.entries(floor.limits ?? {}).flatMap(([field, limit]) => {
    const most = numbers.get(field)
    if (most === undefined || most <= limit) return []
    const has = most === Infinity ? 'has no bound' : `reaches ${most}`
    const by = setBy(floor, `limits.${field}`)
    const message = `${field} ${has} in the plan, beyond the ${limit} that the floor set by ${by} allows; start a new run`
    return [{ field: `limits.${field}`, message, floor: by }]
  })
}

function processesBeyond(plan: Plan, floor: Floor): FloorViolation[] {
  const { minimumIsolation: least, images } = floor
  const found: FloorViolation[] = []
  for (const { action, isolation, container } of plan.processes) {
    if (least !== undefined && isolations.indexOf(isolation) < isolations.indexOf(least)) {
      const by = setBy(floor, 'minimumIsolation')
      const message = `isolation \`${isolation}\` of action ${action} is weaker than the \`${least}\` that the floor set by ${by} requires; start a new run`
      found.push({ field: 'minimumIsolation', message, floor: by })
    }
    if (container !== null && images !== undefined && !images.includes(container.image)) {
      const by = setBy(floor, 'images')
      const message = `image \`${container.image}\` of action ${action} is not among the images that the floor set by ${by} allows; start a new run`
      found.push({ field: 'images', message, floor: by })
    }
  }
  return found
}

function lostBeyond(plan: Plan, floor: Floor): FloorViolation[] {
  if (floor.workspaceNotCaptured !== 'error') return []
  const tasks = plan.order.flatMap(id => plan.tasks[id] ?? [])
  const { approval, nonInteractive } = plan.effectivePolicy
  const policy = { approval: approval.value, nonInteractive: nonInteractive.value }
  const by = setBy(floor, 'workspaceNotCaptured')
  return [...uncapturedOf(tasks, () => indexed(tasks).needs, policy)].map(({ task }) => ({
    field: 'workspaceNotCaptured',
    message: `what \`${tasks[task]?.id}\` leaves in the workspace is lost at a pause, which the floor set by ${by} refuses; list the files to keep in its action's artifacts and start a new run`,
    floor: by,
  }))
}
