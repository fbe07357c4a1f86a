import type { Requester } from '../../ledger/port.ts'
import type { AttachRequest } from '../../ledger/wire.ts'
import { requesters } from '../../policy/approval/index.ts'
import type { ApprovalSettings } from '../../policy/approval/record.ts'
import { approvalSettings, type Floor } from '../../policy/decision/index.ts'
import { problem } from '../problem.ts'
import type { Participants } from './people.ts'

/** How a pause of this run will be decided: the floor met with the step's inputs. Throws ProblemError 422 where nobody is left. */
export function attachSettings(floor: Floor | null, request: AttachRequest): ApprovalSettings {
  const met = approvalSettings(floor, request.settings)
  if (met.ok) return met.settings
  throw problem(422, 'settings_refused', met.message)
}

/** Those who had a part in an attempt, added to those who are kept: the set only grows. */
export function attachRequesters(facts: Participants, inherited: readonly Requester[]): Requester[] {
  return requesters({ ...facts, inherited }).requesters
}
