import { roleOf } from '../access.ts'
import { onRepository, type Route } from '../call.ts'
import { notFound } from '../errors.ts'
import { publicUser, simpleUser, teamFull } from '../render/people.ts'

const METADATA = onRepository([['metadata', 'read']])

export const peopleRoutes: readonly Route[] = [
  {
    operation: 'GET /user',
    access: { kind: 'person' },
    handle: ({ services, caller }) => {
      if (caller.kind !== 'user') throw notFound()
      return { status: 200, body: publicUser(services.world, caller.user) }
    },
  },
  {
    operation: 'GET /users/{username}',
    access: { kind: 'anyone' },
    handle: ({ services, params }) => {
      const user = services.people.find(params['username'] ?? '')
      if (!user) throw notFound()
      return { status: 200, body: publicUser(services.world, user) }
    },
  },
  {
    operation: 'GET /user/{account_id}',
    access: { kind: 'anyone' },
    handle: ({ services, params }) => {
      const user = services.people.byId(Number(params['account_id']))
      if (!user) throw notFound()
      return { status: 200, body: publicUser(services.world, user) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/collaborators/{username}/permission',
    access: METADATA,
    handle: ({ services, params, repository, caller }) => {
      if (caller.kind === 'anonymous') throw notFound()
      const user = services.people.find(params['username'] ?? '')
      if (!user) throw notFound()
      const { roleName, permission } = roleOf(repository, user, services.teams)
      const flags = (least: string) =>
        ['none', 'read', 'triage', 'write', 'maintain', 'admin'].indexOf(roleName) >=
        ['none', 'read', 'triage', 'write', 'maintain', 'admin'].indexOf(least)
      const permissions = {
        pull: flags('read'),
        triage: flags('triage'),
        push: flags('write'),
        maintain: flags('maintain'),
        admin: flags('admin'),
      }
      return {
        status: 200,
        body: {
          permission,
          role_name: roleName,
          user: { ...simpleUser(services.world, user), permissions, role_name: roleName },
        },
      }
    },
  },
  {
    operation: 'GET /orgs/{org}/teams/{team_slug}',
    access: { kind: 'members' },
    handle: ({ services, params }) => {
      const team = services.teams.find(params['org'] ?? '', params['team_slug'] ?? '')
      if (!team) throw notFound()
      return { status: 200, body: teamFull(services.world, team) }
    },
  },
  {
    operation: 'GET /orgs/{org}/teams/{team_slug}/members',
    access: { kind: 'members' },
    handle: ({ services, params }) => {
      const team = services.teams.find(params['org'] ?? '', params['team_slug'] ?? '')
      if (!team) throw notFound()
      return { list: team.members.filter(m => m.state === 'active').map(m => simpleUser(services.world, m.user)) }
    },
  },
  {
    operation: 'GET /orgs/{org}/teams/{team_slug}/memberships/{username}',
    access: { kind: 'members' },
    handle: ({ services, params }) => {
      const team = services.teams.find(params['org'] ?? '', params['team_slug'] ?? '')
      const member = team?.members.find(m => m.user.login.toLowerCase() === params['username']?.toLowerCase())
      if (!team || !member) throw notFound()
      const url = `${services.world.apiUrl}/organizations/${team.org.id}/team/${team.id}/memberships/${member.user.login}`
      return { status: 200, body: { url, role: member.role, state: member.state } }
    },
  },
]
