import type { EligibilityFacts, PermissionFact } from './facts.ts'
import type { ApprovalSettings } from './record.ts'
import type { RefusalCode, RetryCode } from './verdict.ts'

const levels = ['none', 'read', 'triage', 'write', 'maintain', 'admin'] as const
type Level = (typeof levels)[number]

export type Eligibility =
  | { ok: true /** listed logins to bind to this person's id */; binds: { login: string; id: number }[] }
  | { ok: false; retry: false; code: RefusalCode; reason: string }
  | { ok: false; retry: true; code: RetryCode; reason: string }

/**
 * Whether a person may decide now: holds the permission, and is listed where anybody is. An unanswered question is never
 * a yes and never a no: it is asked again. Being assigned to an issue means nothing here.
 */
export function eligible(facts: EligibilityFacts): Eligibility {
  const { settings, permission } = facts
  if (!permission.ok) return { ok: false, retry: true, code: 'permission_unavailable', reason: permission.message }
  const level = levelOf(permission)
  if (!reaches(level, settings.permission)) {
    const reason = `${settings.permission} permission is needed and this account has ${level}`
    return { ok: false, retry: false, code: 'permission_too_low', reason }
  }
  return listed(facts, settings)
}

/** Whether the answer of the API reaches a level; false where the API did not answer. */
export function holds(permission: PermissionFact, level: 'triage' | 'write'): boolean {
  return permission.ok && reaches(levelOf(permission), level)
}

/**
 * `role_name` tells triage and maintain apart, which the legacy value does not; a custom role counts as its legacy base.
 * An unknown legacy value is none.
 */
function levelOf(permission: Extract<PermissionFact, { ok: true }>): Level {
  return known(permission.role) ?? known(permission.permission) ?? 'none'
}

function known(name: string | null): Level | null {
  return levels.find(level => level === name) ?? null
}

function reaches(level: Level, needed: ApprovalSettings['permission']): boolean {
  return levels.indexOf(level) >= levels.indexOf(needed)
}

function listed(facts: EligibilityFacts, settings: ApprovalSettings): Eligibility {
  const { users, teams } = settings
  if (users === null && teams === null) return { ok: true, binds: [] }
  if ((users ?? []).length === 0 && (teams ?? []).length === 0) {
    const reason = 'the lists of approvers that bind this pause have nobody in common'
    return { ok: false, retry: false, code: 'nobody_eligible', reason }
  }
  const byUser = listedUser(facts, users ?? [])
  if (byUser?.ok === true) return byUser
  const byTeam = listedTeam(facts, teams ?? [])
  if (byTeam !== null) return byTeam
  return (
    byUser ?? {
      ok: false,
      retry: false,
      code: 'not_an_approver',
      reason: 'this account is not on the list of approvers',
    }
  )
}

/** null where no entry names this person at all. */
function listedUser(facts: EligibilityFacts, users: NonNullable<ApprovalSettings['users']>): Eligibility | null {
  const login = facts.person.login.toLowerCase()
  const { id } = facts.person
  let isMismatch = false
  for (const user of users) {
    if (user.id !== null && user.id === id) return { ok: true, binds: [] }
    if (user.login.toLowerCase() !== login) continue
    const bound = user.id ?? facts.boundIds[login] ?? null
    if (bound === id) return { ok: true, binds: [] }
    if (bound === null) return { ok: true, binds: [{ login, id }] }
    isMismatch = true
  }
  if (!isMismatch) return null
  const reason = `the list means another account that was called ${facts.person.login} before`
  return { ok: false, retry: false, code: 'login_id_mismatch', reason }
}

/** null where no team counts them in and all have answered. */
function listedTeam(facts: EligibilityFacts, teams: readonly string[]): Eligibility | null {
  const states = teams.map(team => ({ team, state: facts.memberships[team.toLowerCase()] ?? 'error' }))
  if (states.some(({ state }) => state === 'active')) return { ok: true, binds: [] }
  const unanswered = states.find(({ state }) => state === 'error')
  if (unanswered === undefined) return null
  const reason = `membership in ${unanswered.team} could not be read`
  return { ok: false, retry: true, code: 'membership_unavailable', reason }
}
