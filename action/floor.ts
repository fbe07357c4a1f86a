import type { RunSnapshot } from '../ledger/port.ts'
import type { AttachRequest } from '../ledger/wire.ts'
import { approvalSettings, type Floor, meetFloors, parseFloor } from '../policy/decision/index.ts'
import { beneathRepositoryRules } from '../policy/document/index.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import { hostFloorPath, installedFloor } from '../runner/facts/host-floor.ts'
import { stricterFloor } from '../runner/stricter-floor.ts'
import { ActionError, exits } from './failure.ts'
import { readCheckoutFile } from './files.ts'
import type { Job } from './job.ts'

/** The host's own floor, or why there is none to read. `not readable` = the job runs in a container. */
export type HostFloor = { state: 'installed'; floor: Floor } | { state: 'none' } | { state: 'not readable' }

/**
 * Reads the floor that the runner's administrator installed. Throws ActionError where it is there but is not root's, or
 * others may write it, or it cannot be read: a floor that cannot be trusted or understood is never no floor.
 */
export function readHostFloor(inContainer: boolean, path = hostFloorPath): HostFloor {
  if (inContainer) return { state: 'not readable' }
  const installed = installedFloor(path)
  if (installed.state !== 'refused') return installed
  throw new ActionError(installed.code, installed.message, { help: installed.help })
}

/** The floor that input `floor` names in the checkout; null where none is given. */
export function readInputFloor(checkout: string, path: string | null): Floor | null {
  return path === null ? null : parsedFloor(readCheckoutFile(checkout, path, 'floor'), 'input floor', path)
}

/**
 * What all floors together demand, null where there is none. Throws ActionError (exit 3) where a host floor is required
 * and cannot be read from inside a container.
 */
export function effectiveFloor(repository: Json, input: Floor | null, host: HostFloor): Floor | null {
  const floors = [
    repository === null ? null : parsedFloor(repository, 'repository', 'the repository floor'),
    input,
    host.state === 'installed' ? host.floor : null,
  ].filter(floor => floor !== null)
  const floor = floors.length === 0 ? null : floors.reduce(meetFloors)
  if (floor?.requireHostFloor === true && host.state !== 'installed')
    throw new ActionError(
      'host_floor_required',
      `the floor requires a host floor, and ${hostFloorPath} is ${host.state}`,
      {
        exitCode: exits.denied,
        help: 'run the job outside a job container on a runner with a root-owned host floor',
      },
    )
  return floor
}

function parsedFloor(value: string | Json, source: string, name: string): Floor {
  const result = parseFloor(value, source)
  if (result.ok) return result.floor
  throw new ActionError('invalid_floor', `${name}: ${result.message}`, { help: 'correct the SecurityFloor' })
}

/**
 * The step's approval settings tightened by the floors that only this job can see, for the control plane to meet with its
 * own. Throws ActionError where such a floor says what an attach request cannot carry.
 */
export function tightened(requested: AttachRequest['settings'], floor: Floor | null): AttachRequest['settings'] {
  if (floor === null) return requested
  const met = approvalSettings(floor, requested)
  if (!met.ok) throw new ActionError('invalid_input', met.message, { help: 'let the inputs and the floor overlap' })
  const {
    users,
    teams,
    minimumApprovals,
    preventSelfApproval,
    expiresAfterSeconds,
    permission,
    plainWords,
    onSuperseded,
  } = met.settings
  if (!['read', 'triage', 'write'].includes(permission) || !plainWords || onSuperseded === 'refuse')
    throw new ActionError(
      'invalid_floor',
      'approvers.permission above write, plainWords and onSuperseded are decided by the control plane',
      {
        help: 'put them into the repository’s or the organisation’s floor, not into the host floor or input floor',
      },
    )
  return {
    ...requested,
    ...(users !== null && { users: users.map(user => user.login) }),
    ...(teams !== null && { teams }),
    minimumApprovals,
    preventSelfApproval,
    expiresAfterSeconds,
  }
}

/** The floor's rules about which repository and workflow may run what. Throws ActionError, exit 3. */
export function checkRepository(floor: Floor | null, plan: Plan, job: Job): void {
  const [violation] = beneathRepositoryRules(plan, floor, placeOf(job))
  if (violation === undefined) return
  const code = violation.field === 'protectedRepositories' ? 'protected_repository' : 'workflow_ref_not_allowed'
  throw new ActionError(code, `${violation.message} (set by ${violation.floor})`, { exitCode: exits.denied })
}

/** Refuses to go on with a run under a floor that is stricter than what it was made under. Throws ActionError, exit 3. */
export function refuseStricter(snapshot: RunSnapshot, floor: Floor | null, job: Job): void {
  const violations = stricterFloor(snapshot, floor, placeOf(job))
  if (violations.length === 0) return
  const what = violations.map(({ message }) => message).join('; ')
  throw new ActionError('floor_violation', `this run cannot resume here: ${what}`, {
    exitCode: exits.denied,
    help: 'start a new run under the present floor, or resume under the one that the run was made under',
  })
}

function placeOf({ owner, repo, workflowRef }: Job): { repository: string; workflowRef: string } {
  return { repository: `${owner}/${repo}`, workflowRef }
}
