import { type ApprovalSettings, defaultApprovalSettings, expiryMaxSeconds } from '../approval/record.ts'
import type { Floor } from './floor.ts'
import { isListed, type ListedUser, meetFloors, normalTeams, normalUsers, stricterPermission, users } from './meet.ts'
import { joinLists, meetLists, names } from './sets.ts'

/** What the Action's inputs ask for; absent = not given. */
export interface SettingsInputs {
  users?: string[] | undefined
  teams?: string[] | undefined
  minimumApprovals?: number | undefined
  preventSelfApproval?: boolean | undefined
  expiresAfterSeconds?: number | undefined
  labels?: string[] | undefined
  issueDetail?: 'full' | 'summary' | undefined
}

export type SettingsResult = { ok: true; settings: ApprovalSettings } | { ok: false; message: string }

/**
 * How a pause will be decided: the floor met with the step's inputs, which can only tighten. Nobody left on the list of
 * approvers, or an expiry out of range, is an error that names the input.
 */
export function approvalSettings(floor: Floor | null, inputs: SettingsInputs): SettingsResult {
  const fault = inputFault(inputs)
  if (fault !== null) return { ok: false, message: fault }
  const base = floor === null ? defaultApprovalSettings : floorSettings(floor)
  const settings: ApprovalSettings = {
    ...base,
    ...meetPeople(base, inputPeople(inputs)),
    minimumApprovals: Math.max(base.minimumApprovals, inputs.minimumApprovals ?? 1),
    preventSelfApproval: base.preventSelfApproval || (inputs.preventSelfApproval ?? false),
    expiresAfterSeconds: Math.min(
      floor?.expiresAfter ?? expiryMaxSeconds,
      inputs.expiresAfterSeconds ?? base.expiresAfterSeconds,
    ),
    labels: inputs.labels === undefined || inputs.labels.length === 0 ? base.labels : [...new Set(inputs.labels)],
    issueDetail: inputs.issueDetail ?? base.issueDetail,
  }
  if (!nobodyListed(settings)) return { ok: true, settings }
  const message =
    inputs.users === undefined && inputs.teams === undefined
      ? 'approvers: the floors together leave nobody who may approve; let their lists overlap'
      : "approvers: nobody on this list is also on the floor's list; name users or teams that the floor names"
  return { ok: false, message }
}

/** The settings that a floor alone gives. An expiry above the default bounds what inputs may ask for; it is no default. */
export function floorSettings(floor: Floor): ApprovalSettings {
  const { approvers } = floor
  const listed = isListed(approvers)
  return {
    ...defaultApprovalSettings,
    minimumApprovals: floor.minimumApprovals ?? defaultApprovalSettings.minimumApprovals,
    users: listed ? normalUsers(approvers.users ?? []) : null,
    teams: listed ? normalTeams(approvers.teams ?? []) : null,
    permission: approvers.permission,
    preventSelfApproval: floor.preventSelfApproval,
    expiresAfterSeconds: Math.min(defaultApprovalSettings.expiresAfterSeconds, floor.expiresAfter ?? expiryMaxSeconds),
    plainWords: floor.plainWords ?? defaultApprovalSettings.plainWords,
    notify: floor.notify ?? [],
    onSuperseded: floor.onSuperseded ?? defaultApprovalSettings.onSuperseded,
  }
}

/**
 * What binds a decision: the stricter of the settings at the pause and of the floor now. Where the two lists of approvers
 * share nobody, nobody is eligible.
 */
export function stricterSettings(left: ApprovalSettings, right: ApprovalSettings): ApprovalSettings {
  return {
    minimumApprovals: Math.max(left.minimumApprovals, right.minimumApprovals),
    ...meetPeople(left, right),
    permission: stricterPermission(left.permission, right.permission),
    preventSelfApproval: left.preventSelfApproval || right.preventSelfApproval,
    expiresAfterSeconds: Math.min(left.expiresAfterSeconds, right.expiresAfterSeconds),
    plainWords: left.plainWords && right.plainWords,
    notify: joinLists(left.notify, right.notify),
    labels: joinLists(left.labels, right.labels),
    issueDetail: left.issueDetail === 'summary' ? 'summary' : right.issueDetail,
    onSuperseded: left.onSuperseded === 'refuse' ? 'refuse' : right.onSuperseded,
  }
}

/** Settings that bind now: those of the pause, tightened by the floor as it is read at this moment. */
export function bindingSettings(atPause: ApprovalSettings, floorNow: Floor | null): ApprovalSettings {
  return floorNow === null ? atPause : stricterSettings(atPause, floorSettings(floorNow))
}

/** A list that names nobody at all. */
export function nobodyListed(settings: Pick<ApprovalSettings, 'users' | 'teams'>): boolean {
  if (settings.users === null && settings.teams === null) return false
  return (settings.users ?? []).length === 0 && (settings.teams ?? []).length === 0
}

/** All floors that bind a run as one; null where none is installed. */
export function meetAll(floors: readonly (Floor | null)[]): Floor | null {
  const installed = floors.filter(floor => floor !== null)
  return installed.reduce<Floor | null>(
    (met, floor) => (met === null ? meetFloors(floor, floor) : meetFloors(met, floor)),
    null,
  )
}

interface People {
  users: ListedUser[] | null
  teams: string[] | null
}

function inputPeople(inputs: SettingsInputs): People {
  const listed = (inputs.users ?? []).length > 0 || (inputs.teams ?? []).length > 0
  if (!listed) return { users: null, teams: null }
  const list = (inputs.users ?? []).map(login => ({ login: login.replace(/^@/, ''), id: null }))
  return { users: normalUsers(list), teams: normalTeams((inputs.teams ?? []).map(team => team.replace(/^@/, ''))) }
}

function meetPeople(left: People, right: People): People {
  if (left.users === null && left.teams === null) return { users: right.users, teams: right.teams }
  if (right.users === null && right.teams === null) return { users: left.users, teams: left.teams }
  return {
    users: meetLists(normalUsers(left.users ?? []), normalUsers(right.users ?? []), users),
    teams: meetLists(normalTeams(left.teams ?? []), normalTeams(right.teams ?? []), names),
  }
}

function inputFault(inputs: SettingsInputs): string | null {
  const { minimumApprovals: minimum, expiresAfterSeconds: expires } = inputs
  if (minimum !== undefined && (!Number.isInteger(minimum) || minimum < 1)) {
    return 'minimum-approvals: a whole number from 1 is needed'
  }
  if (expires !== undefined && !(Number.isInteger(expires) && expires >= 60 && expires <= expiryMaxSeconds)) {
    return 'approval-expires: at least a minute and at most 29 days, since GitHub re-runs a job for 30 days only'
  }
  return null
}
