import { type Isolation, isolations } from '../effect.ts'
import { both, meetBounds, normalizeBounds, withoutUndefined } from './bounds.ts'
import { type Floor, type Permission, permissions } from './floor.ts'
import { joinLists, meetLists, names, normalForm, type Order } from './sets.ts'

export type ListedUser = { login: string; id: number | null }

/** Logins differ in case only: one person. A login without an id covers the same login with any id. */
export const users: Order<ListedUser> = {
  contains: (outer, inner) => outer.login === inner.login && (outer.id === null || outer.id === inner.id),
  meet: (left, right) => (users.contains(left, right) ? right : users.contains(right, left) ? left : null),
  key: user => `${user.login} ${user.id ?? ''}`,
}

type Approvers = Floor['approvers']

/**
 * The floor that demands what both demand and allows what both allow. Commutative, associative, idempotent; it never
 * grants what either side refuses.
 */
export function meetFloors(left: Floor, right: Floor): Floor {
  const a = normalizeFloor(left)
  const b = normalizeFloor(right)
  const met = withoutUndefined<Floor>({
    minimumIsolation: both(a.minimumIsolation, b.minimumIsolation, strongerIsolation),
    policy: both(a.policy, b.policy, meetBounds),
    limits: both(a.limits, b.limits, lowerLimits),
    images: both(a.images, b.images, common),
    searchPath: both(a.searchPath, b.searchPath, common),
    protectedRepositories: both(a.protectedRepositories, b.protectedRepositories, joinLists),
    approvers: meetApprovers(a.approvers, b.approvers),
    minimumApprovals: both(a.minimumApprovals, b.minimumApprovals, Math.max),
    preventSelfApproval: a.preventSelfApproval || b.preventSelfApproval,
    expiresAfter: both(a.expiresAfter, b.expiresAfter, Math.min),
    plainWords: both(a.plainWords, b.plainWords, (x, y) => x && y),
    notify: both(a.notify, b.notify, joinLists),
    onSuperseded: both(a.onSuperseded, b.onSuperseded, (x, y) => (x === 'refuse' ? x : y)),
    allowedWorkflowRefs: both(a.allowedWorkflowRefs, b.allowedWorkflowRefs, common),
    workspaceNotCaptured: both(a.workspaceNotCaptured, b.workspaceNotCaptured, (x, y) => (x === 'error' ? x : y)),
    requireHostFloor: both(a.requireHostFloor, b.requireHostFloor, (x, y) => x || y),
  })
  return withoutUndefined<Floor>({ ...met, setBy: both(a.setBy, b.setBy, () => joinSources(a, b, met)) })
}

/** One spelling for each field: sorted lists, lower-case logins, nothing that another entry covers. */
export function normalizeFloor(floor: Floor): Floor {
  return withoutUndefined<Floor>({
    ...floor,
    policy: floor.policy && normalizeBounds(floor.policy),
    images: sorted(floor.images),
    searchPath: sorted(floor.searchPath),
    protectedRepositories: sorted(floor.protectedRepositories),
    approvers: normalizeApprovers(floor.approvers),
    notify: sorted(floor.notify),
    allowedWorkflowRefs: sorted(floor.allowedWorkflowRefs),
  })
}

/** Whether users or teams are listed, so that holding the permission alone is not enough. */
export function isListed(approvers: { users?: unknown; teams?: unknown }): boolean {
  return (approvers.users ?? undefined) !== undefined || (approvers.teams ?? undefined) !== undefined
}

export function stricterPermission(left: Permission, right: Permission): Permission {
  return permissions.indexOf(left) > permissions.indexOf(right) ? left : right
}

export function normalUsers(list: readonly ListedUser[]): ListedUser[] {
  return normalForm(
    list.map(user => ({ login: user.login.toLowerCase(), id: user.id })),
    users,
  )
}

export function normalTeams(list: readonly string[]): string[] {
  return normalForm(
    list.map(team => team.toLowerCase()),
    names,
  )
}

function normalizeApprovers(approvers: Approvers): Approvers {
  if (!isListed(approvers)) return { permission: approvers.permission }
  return {
    users: normalUsers(approvers.users ?? []),
    teams: normalTeams(approvers.teams ?? []),
    permission: approvers.permission,
  }
}

/** Users meet users and teams meet teams: who is only in one floor's team and the other's user list is not eligible. */
function meetApprovers(left: Approvers, right: Approvers): Approvers {
  const permission = stricterPermission(left.permission, right.permission)
  if (!isListed(left)) return { ...right, permission }
  if (!isListed(right)) return { ...left, permission }
  return {
    users: meetLists(left.users ?? [], right.users ?? [], users),
    teams: meetLists(left.teams ?? [], right.teams ?? [], names),
    permission,
  }
}

function strongerIsolation(left: Isolation, right: Isolation): Isolation {
  return isolations.indexOf(left) > isolations.indexOf(right) ? left : right
}

function lowerLimits(left: { [name: string]: number }, right: { [name: string]: number }): { [name: string]: number } {
  const limits = { ...left }
  for (const [name, limit] of Object.entries(right)) limits[name] = Math.min(limits[name] ?? limit, limit)
  return limits
}

/** Fields whose values stand in a row from loose to strict: the stricter of two floors sets them alone. */
const rows: ReadonlySet<string> = new Set([
  'minimumIsolation',
  'minimumApprovals',
  'preventSelfApproval',
  'expiresAfter',
  'plainWords',
  'onSuperseded',
  'workspaceNotCaptured',
  'requireHostFloor',
  'policy.nonInteractive',
])

function joinSources(left: Floor, right: Floor, met: Floor): { [field: string]: string[] } {
  const sources: { [field: string]: string[] } = {}
  const inRow = (field: string) => rows.has(field) || field.startsWith('limits.')
  for (const { setBy = {}, ...floor } of [left, right])
    for (const [field, floors] of Object.entries(setBy))
      if (!inRow(field) || statedValue(floor, field) === statedValue(met, field))
        sources[field] = joinLists(sources[field] ?? [], floors)
  return sources
}

function statedValue(floor: Omit<Floor, 'setBy'>, field: string): unknown {
  if (field === 'policy.nonInteractive') return floor.policy?.nonInteractive
  const [, limit] = field.split('limits.')
  return limit === undefined ? floor[field as keyof typeof floor] : floor.limits?.[limit]
}

function common(left: readonly string[], right: readonly string[]): string[] {
  return meetLists(left, right, names)
}

function sorted(list: readonly string[] | undefined): string[] | undefined {
  return list && normalForm(list, names)
}
