import type { Caller } from './caller.ts'
import { readAccount } from './read.ts'
import { type Result, success } from './result.ts'
import type { Account, GitHubRepository, GitHubSettings } from './types.ts'

type People = Pick<GitHubRepository, 'self' | 'user' | 'permission' | 'membership'>

/** Accounts, what they may do, and which teams they are in: always asked anew, but for our own account. */
export function people(call: Caller, settings: GitHubSettings, at: { owner: string; repo: string }): People {
  let own: Account | null = null
  const user = (login: string): Promise<Result<Account>> =>
    call({ what: `reading user ${login}` }, async octokit =>
      readAccount((await octokit.rest.users.getByUsername({ username: login })).data),
    )
  return {
    user,
    async self() {
      if (own !== null) return success(own)
      const answer = settings.app === null ? await tokenUser(call) : await appUser(call, user)
      if (answer.ok) own = answer.value
      return answer
    },
    permission: login =>
      call({ what: `reading the permission of ${login}` }, async octokit => {
        const { data } = await octokit.rest.repos.getCollaboratorPermissionLevel({ ...at, username: login })
        if (data.user === null) throw new Error(`GitHub named no account for ${login}`)
        return { user: readAccount(data.user), permission: data.permission, roleName: data.role_name }
      }),
    membership: (team, login) =>
      call({ what: `reading whether ${login} is in ${team}`, as: 'members' }, async octokit => {
        const [org = '', slug = ''] = team.split('/')
        const { data } = await octokit.rest.teams.getMembershipForUserInOrg({ org, team_slug: slug, username: login })
        return { active: data.state === 'active' }
      }),
  }
}

function tokenUser(call: Caller): Promise<Result<Account>> {
  return call({ what: 'reading the account of GITHUB_TOKEN' }, async octokit =>
    readAccount((await octokit.rest.users.getAuthenticated()).data),
  )
}

async function appUser(call: Caller, user: (login: string) => Promise<Result<Account>>): Promise<Result<Account>> {
  const slug = await call({ what: 'reading our App', as: 'app' }, async octokit => {
    const { data } = await octokit.rest.apps.getAuthenticated()
    if (!data?.slug) throw new Error('GitHub did not say the name of our App')
    return data.slug
  })
  return slug.ok ? user(`${slug.value}[bot]`) : slug
}
