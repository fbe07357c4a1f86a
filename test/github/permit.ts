import { checkRepository } from './access.ts'
import type { Route, Services } from './call.ts'
import { badCredentials, moved, notByIntegration, notFound, requiresAuthentication, undecodableJwt } from './errors.ts'
import type { Repository } from './repository.ts'
import type { Caller } from './tokens.ts'

/** Finds the repository where the path names one, and refuses a caller that may not. */
export function permit(
  services: Services,
  route: Route,
  params: { readonly [name: string]: string },
  caller: Caller,
  url: URL,
): Repository | null {
  const { access } = route
  if (access.kind === 'repository' || 'repo' in params) {
    const { owner = '', repo = '' } = params
    const repository = services.repositories.exact(owner, repo)
    if (!repository) {
      const former = services.repositories.former(owner, repo)
      if (!former) throw notFound()
      const rest = url.pathname.slice(`/repos/${owner}/${repo}`.length)
      throw moved(
        `${services.world.apiUrl}/repositories/${former.id}${rest}${url.search}`,
        route.operation.startsWith('GET'),
      )
    }
    if (access.kind === 'repository') checkRepository(caller, repository, access.access, services.teams)
    if (access.kind === 'app' && caller.kind !== 'app')
      throw caller.kind === 'anonymous' ? requiresAuthentication() : notByIntegration()
    return repository
  }
  if (access.kind === 'anyone') return null
  if (caller.kind === 'anonymous') throw access.kind === 'client' ? notFound() : requiresAuthentication()
  if (access.kind === 'app' && caller.kind !== 'app') throw undecodableJwt()
  if (access.kind === 'client' && caller.kind !== 'client') throw badCredentials()
  if (access.kind === 'installation' && caller.kind !== 'installation') throw notByIntegration()
  if (access.kind === 'person' && caller.kind !== 'user') throw notByIntegration()
  if (access.kind === 'members') permitMembers(services, params['org'] ?? '', caller)
  return null
}

function permitMembers(services: Services, org: string, caller: Caller): void {
  const account = services.people.find(org)
  if (!account) throw notFound()
  if (caller.kind === 'installation') {
    if (caller.installation.account !== account) throw notFound()
    if (caller.permissions['members'] === undefined) throw notByIntegration()
  } else if (caller.kind === 'user') {
    if (!services.teams.memberOf(account, caller.user) && account !== caller.user) throw notFound()
  } else throw notByIntegration()
}
