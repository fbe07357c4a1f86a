import type { AppRecord, Installation, Team, User } from '../model.ts'
import { iso, maybeIso, nodeId, type World } from '../world.ts'

/** GitHub's `simple-user`. */
export function simpleUser(world: World, user: User) {
  const url = `${world.apiUrl}/users/${encodeURIComponent(user.login)}`
  return {
    login: user.login,
    id: user.id,
    node_id: nodeId(user.type === 'Organization' ? 'O' : user.type === 'Bot' ? 'BOT' : 'U', user.id),
    avatar_url: `${world.serverUrl}/avatars/u/${user.id}?v=4`,
    gravatar_id: '',
    url,
    html_url:
      user.type === 'Bot'
        ? `${world.serverUrl}/apps/${user.login.replace(/\[bot\]$/, '')}`
        : `${world.serverUrl}/${user.login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: user.type,
    user_view_type: 'public',
    site_admin: false,
  }
}

export const maybeUser = (world: World, user: User | null) => (user ? simpleUser(world, user) : null)

/** GitHub's `public-user`. */
export function publicUser(world: World, user: User) {
  return {
    ...simpleUser(world, user),
    name: user.name,
    company: null,
    blog: '',
    location: null,
    email: null,
    hireable: null,
    bio: null,
    twitter_username: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: iso(user.createdAt),
    updated_at: iso(user.createdAt),
  }
}

/** GitHub's `organization-simple-webhooks`. */
export function webhookOrganization(world: World, org: User) {
  const url = `${world.apiUrl}/orgs/${org.login}`
  return {
    login: org.login,
    id: org.id,
    node_id: nodeId('O', org.id),
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url: `${world.serverUrl}/avatars/u/${org.id}?v=4`,
    description: null,
  }
}

/** GitHub's `integration`, as `GET /app` and `performed_via_github_app` have it. */
export function integration(world: World, app: AppRecord) {
  return {
    id: app.id,
    client_id: app.clientId,
    slug: app.slug,
    node_id: nodeId('A', app.id),
    owner: simpleUser(world, app.owner),
    name: app.name,
    description: '',
    external_url: 'https://example.com',
    html_url: `${world.serverUrl}/apps/${app.slug}`,
    created_at: iso(app.createdAt),
    updated_at: iso(app.createdAt),
    permissions: app.permissions,
    events: app.events,
  }
}

export const maybeIntegration = (world: World, app: AppRecord | null) => (app ? integration(world, app) : null)

/** GitHub's `installation`. */
export function installation(world: World, one: Installation) {
  return {
    id: one.id,
    client_id: one.app.clientId,
    account: simpleUser(world, one.account),
    repository_selection: one.repositories === 'all' ? 'all' : 'selected',
    access_tokens_url: `${world.apiUrl}/app/installations/${one.id}/access_tokens`,
    repositories_url: `${world.apiUrl}/installation/repositories`,
    html_url: `${world.serverUrl}/organizations/${one.account.login}/settings/installations/${one.id}`,
    app_id: one.app.id,
    app_slug: one.app.slug,
    target_id: one.account.id,
    target_type: one.account.type,
    permissions: one.permissions,
    events: one.events,
    created_at: iso(one.createdAt),
    updated_at: iso(one.createdAt),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: null,
    suspended_at: maybeIso(one.suspendedAt),
  }
}

/** GitHub's `team-full`. */
export function teamFull(world: World, team: Team) {
  const url = `${world.apiUrl}/organizations/${team.org.id}/team/${team.id}`
  const at = iso(team.org.createdAt)
  return {
    id: team.id,
    node_id: nodeId('T', team.id),
    url,
    html_url: `${world.serverUrl}/orgs/${team.org.login}/teams/${team.slug}`,
    name: team.name,
    slug: team.slug,
    description: null,
    privacy: 'closed',
    notification_setting: 'notifications_enabled',
    permission: 'pull',
    members_url: `${url}/members{/member}`,
    repositories_url: `${url}/repos`,
    type: 'organization',
    parent: null,
    members_count: team.members.filter(m => m.state === 'active').length,
    repos_count: 0,
    created_at: at,
    updated_at: at,
    organization: { ...organizationFull(world, team.org) },
  }
}

function organizationFull(world: World, org: User) {
  const { description: _, ...simple } = webhookOrganization(world, org)
  return {
    ...simple,
    description: null,
    html_url: `${world.serverUrl}/${org.login}`,
    type: 'Organization',
    has_organization_projects: true,
    has_repository_projects: true,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: iso(org.createdAt),
    updated_at: iso(org.createdAt),
    archived_at: null,
  }
}
