import { covers } from '../access.ts'
import type { Call, Route } from '../call.ts'
import { deliveryItem } from '../deliveries.ts'
import { badCredentials, notFound, permissionNotGranted, repositoryNotAccessible, suspended } from '../errors.ts'
import type { Installation, Permissions } from '../model.ts'
import { installation as installationBody, integration, maybeUser } from '../render/people.ts'
import { repository as repositoryBody } from '../render/repository.ts'
import { iso } from '../world.ts'

const TOKEN_SECONDS = 3600

function findInstallation(call: Call, id: number): Installation {
  const found = call.services.installations.find(one => one.id === id)
  if (!found) throw notFound()
  return found
}

/** An installation token, narrowed to the asked repositories and permissions. */
function createToken(call: Call) {
  const { services, body } = call
  const one = findInstallation(call, Number(call.params['installation_id']))
  if (one.suspendedAt) throw suspended()
  const ids = body['repository_ids'] as number[] | undefined
  const names = body['repositories'] as string[] | undefined
  let repositories = one.repositories
  if (ids || names) {
    const asked = [
      ...(ids ?? []).map(id => services.repositories.byId(id)),
      ...(names ?? []).map(name => services.repositories.exact(one.account.login, name)),
    ]
    if (asked.some(r => !r || r.record.owner !== one.account || !covers(one.repositories, r.id))) {
      throw repositoryNotAccessible()
    }
    repositories = new Set(asked.flatMap(r => (r ? [r.id] : [])))
  }
  const wanted = (body['permissions'] as Permissions | undefined) ?? one.permissions
  for (const [name, level] of Object.entries(wanted)) {
    const granted = one.permissions[name]
    if (granted === undefined || (granted === 'read' && level === 'write')) {
      throw permissionNotGranted()
    }
  }
  const permissions: Permissions = { metadata: 'read', ...wanted }
  const token = services.tokens.issue(
    'ghs_',
    { kind: 'installation', app: one.app, user: one.app.bot, installation: one, repositories, permissions },
    TOKEN_SECONDS,
  )
  return {
    status: 201,
    body: {
      token,
      expires_at: iso(new Date(services.world.now().getTime() + TOKEN_SECONDS * 1000)),
      permissions,
      repository_selection: repositories === 'all' ? 'all' : 'selected',
      ...(repositories !== 'all' && {
        repositories: [...repositories]
          .flatMap(id => services.repositories.byId(id) ?? [])
          .map(r => repositoryBody(services.world, r.record)),
      }),
    },
  }
}

/** POST /applications/{client_id}/token: what a user-to-server token of our App stands for. */
function checkToken(call: Call) {
  const { services, caller } = call
  if (caller.kind !== 'client' || caller.app.clientId !== call.params['client_id']) throw badCredentials()
  const token = String(call.body['access_token'] ?? '')
  const found = services.tokens.inspect(token)
  if (found?.caller.kind !== 'user' || found.caller.app?.clientId !== caller.app.clientId) throw notFound()
  return {
    status: 200,
    body: {
      id: found.caller.user.id + 1,
      url: `${services.world.apiUrl}/authorizations/${found.caller.user.id + 1}`,
      app: {
        name: caller.app.name,
        url: `${services.world.serverUrl}/apps/${caller.app.slug}`,
        client_id: caller.app.clientId,
      },
      token,
      hashed_token: null,
      token_last_eight: token.slice(-8),
      note: null,
      note_url: null,
      created_at: iso(found.issuedAt),
      updated_at: iso(found.issuedAt),
      scopes: [],
      fingerprint: null,
      user: maybeUser(services.world, found.caller.user),
      expires_at: found.expiresAt ? iso(found.expiresAt) : null,
    },
  }
}

export const appRoutes: readonly Route[] = [
  {
    operation: 'GET /app',
    access: { kind: 'app' },
    handle: ({ services }) => ({
      status: 200,
      body: { ...integration(services.world, services.app), installations_count: services.installations.length },
    }),
  },
  {
    operation: 'GET /app/installations',
    access: { kind: 'app' },
    handle: ({ services }) => ({ list: services.installations.map(one => installationBody(services.world, one)) }),
  },
  {
    operation: 'GET /app/installations/{installation_id}',
    access: { kind: 'app' },
    handle: call => ({
      status: 200,
      body: installationBody(call.services.world, findInstallation(call, Number(call.params['installation_id']))),
    }),
  },
  {
    operation: 'POST /app/installations/{installation_id}/access_tokens',
    access: { kind: 'app' },
    handle: createToken,
  },
  {
    operation: 'GET /app/hook/deliveries',
    access: { kind: 'app' },
    handle: ({ services }) => ({
      list: services.deliveries.all
        .filter(d => d.hook.target === 'app')
        .map(deliveryItem)
        .reverse(),
    }),
  },
  {
    operation: 'POST /app/hook/deliveries/{delivery_id}/attempts',
    access: { kind: 'app' },
    handle: ({ services, params }) => {
      const delivery = services.deliveries.all.find(
        d => d.id === Number(params['delivery_id']) && d.hook.target === 'app',
      )
      if (!delivery) throw notFound()
      void services.deliveries.redeliver(delivery)
      return { status: 202, body: {} }
    },
  },
  { operation: 'POST /applications/{client_id}/token', access: { kind: 'client' }, handle: checkToken },
  {
    operation: 'DELETE /applications/{client_id}/token',
    access: { kind: 'client' },
    handle: call => {
      checkToken(call)
      call.services.tokens.revoke(String(call.body['access_token'] ?? ''))
      return { status: 204 }
    },
  },
  {
    operation: 'GET /installation/repositories',
    access: { kind: 'installation' },
    handle: ({ services, caller }) => {
      if (caller.kind !== 'installation') throw notFound()
      const visible = services.repositories
        .all()
        .filter(r => r.record.owner === caller.installation.account && covers(caller.repositories, r.id))
      return {
        list: visible.map(r => repositoryBody(services.world, r.record)),
        wrap: (page, total) => ({
          total_count: total,
          repository_selection: caller.repositories === 'all' ? 'all' : 'selected',
          repositories: page,
        }),
      }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/installation',
    access: { kind: 'app' },
    handle: ({ services, repository }) => {
      const found = services.installations.find(
        one => one.account === repository.record.owner && covers(one.repositories, repository.id),
      )
      if (!found) throw notFound()
      return { status: 200, body: installationBody(services.world, found) }
    },
  },
  {
    operation: 'GET /orgs/{org}/installation',
    access: { kind: 'app' },
    handle: ({ services, params }) => {
      const found = services.installations.find(one => one.account.login.toLowerCase() === params['org']?.toLowerCase())
      if (!found) throw notFound()
      return { status: 200, body: installationBody(services.world, found) }
    },
  },
  {
    operation: 'GET /user/installations',
    access: { kind: 'person' },
    handle: ({ services }) => ({
      list: services.installations.map(one => installationBody(services.world, one)),
      wrap: (page, total) => ({ total_count: total, installations: page }),
    }),
  },
]
