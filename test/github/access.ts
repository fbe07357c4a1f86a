import { needsAdmin, notByIntegration, notFound, requiresAuthentication, suspended } from './errors.ts'
import type { Role, User } from './model.ts'
import type { Teams } from './people.ts'
import type { Repository } from './repository.ts'
import type { Caller } from './tokens.ts'

/** What an operation on a repository asks of its caller. */
export interface RepositoryAccess {
  /** Permission of an App or job token, and its level; any of several suffices. `metadata` is read by every token. */
  permission: readonly [name: string, level: 'read' | 'write'][]
  /** Least role of a person; `read` on a public repository is everyone's. */
  role: 'read' | 'triage' | 'write' | 'admin'
}

const ORDER = ['none', 'read', 'triage', 'write', 'maintain', 'admin']

/** Role name and legacy permission of a person on a repository. */
export function roleOf(
  repository: Repository,
  user: User,
  teams: Teams,
): { roleName: string; permission: 'none' | 'read' | 'write' | 'admin' } {
  const { record } = repository
  const own: Role | undefined = record.owner === user ? 'admin' : record.collaborators.get(user.id)
  const member = record.owner.type === 'Organization' && teams.memberOf(record.owner, user)
  const role = own ?? (member || !record.private ? 'read' : undefined)
  if (role === undefined) return { roleName: 'none', permission: 'none' }
  if (typeof role === 'object') return { roleName: role.name, permission: role.base }
  const legacy = { read: 'read', triage: 'read', write: 'write', maintain: 'write', admin: 'admin' } as const
  return { roleName: role, permission: legacy[role] }
}

/** Throws 404 where the repository is invisible to the caller, 403 where the operation is not allowed, as GitHub does. */
export function checkRepository(caller: Caller, repository: Repository, access: RepositoryAccess, teams: Teams): void {
  const { record } = repository
  switch (caller.kind) {
    case 'anonymous':
      if (record.private) throw notFound()
      if (access.role !== 'read' || access.permission.some(([, level]) => level === 'write'))
        throw requiresAuthentication()
      return
    case 'app':
    case 'client':
      throw notByIntegration()
    case 'job':
    case 'installation': {
      const covered =
        caller.kind === 'job'
          ? caller.repository === record.id
          : covers(caller.repositories, record.id) && covers(caller.installation.repositories, record.id)
      if (caller.kind === 'installation' && caller.installation.suspendedAt) throw suspended()
      const reads = access.permission.every(([, level]) => level === 'read')
      if (!covered && (record.private || !reads)) throw record.private ? notFound() : notByIntegration()
      const granted = access.permission.some(([name, level]) => allows(caller.permissions, name, level))
      if (!granted && !(reads && !record.private && !covered)) throw notByIntegration(access.permission)
      return
    }
    case 'user': {
      const { roleName, permission } = roleOf(repository, caller.user, teams)
      if (permission === 'none') throw notFound()
      const has = ORDER.includes(roleName) ? roleName : permission
      if (ORDER.indexOf(has) < ORDER.indexOf(access.role))
        throw record.private && access.role === 'read' ? notFound() : needsAdmin()
      if (caller.app && !access.permission.some(([name, level]) => allows(caller.app?.permissions ?? {}, name, level)))
        throw notByIntegration()
    }
  }
}

export const covers = (repositories: Set<number> | 'all', id: number): boolean =>
  repositories === 'all' || repositories.has(id)

export const allows = (permissions: { [name: string]: string }, name: string, level: 'read' | 'write'): boolean => {
  if (name === 'metadata' && level === 'read') return true
  const granted = permissions[name]
  return granted === 'admin' || granted === 'write' || (granted === 'read' && level === 'read')
}
