import { createAppAuth } from '@octokit/auth-app'
import type { RequestInterface } from '@octokit/types'
import type { Clock } from '../../policy/ports.ts'
import { appSigner } from './key.ts'
import type { GitHubSettings, RepositoryName } from './types.ts'

/** What a call acts as: the App itself, this repository, the organisation's members list, or its `.github` repository. */
export type Audience = 'app' | 'repository' | 'members' | 'organisation'

/** Gives the `authorization` header for an audience; `refresh` passes over a kept token that GitHub no longer takes. */
export type Tokens = (audience: Audience, refresh?: boolean) => Promise<string>

const repositoryPermissions = {
  metadata: 'read',
  actions: 'write',
  issues: 'write',
  contents: 'read',
  statuses: 'write',
  pull_requests: 'write',
}
const spareMs = 5 * 60_000

/** Tokens narrowed to one repository by its number, so that a new repository under an old name is out of their reach. */
export function tokensFor(
  settings: GitHubSettings,
  request: RequestInterface,
  clock: Clock,
  repository: RepositoryName,
): Tokens {
  const { app, token } = settings
  if (app === null) {
    if (token === null) throw new Error('set GITHUB_APP_ID with GITHUB_APP_PRIVATE_KEY, or GITHUB_TOKEN')
    return async () => `token ${token}`
  }
  const sign = appSigner(app.privateKey)
  const auth = createAppAuth({
    appId: app.id,
    createJwt: async id => {
      // 30 s back for clocks that differ, and below GitHub's limit of 10 minutes.
      const iat = Math.floor(clock.now().getTime() / 1000) - 30
      const jwt = await sign({ iss: String(id), iat, exp: iat + 570 })
      return { jwt, expiresAt: new Date((iat + 570) * 1000).toISOString() }
    },
    cache: clockCache(clock),
    request,
    log: { warn: () => undefined },
  })
  let installation: Promise<number> | null = null
  const installed = async (): Promise<number> => {
    const { token: jwt } = await auth({ type: 'app' })
    const answer = await request('GET /repos/{owner}/{repo}/installation', {
      owner: repository.owner,
      repo: repository.name,
      headers: { authorization: `bearer ${jwt}` },
    })
    return answer.data.id
  }
  return async (audience, refresh = false) => {
    if (audience === 'app') return `bearer ${(await auth({ type: 'app' })).token}`
    if (refresh || installation === null) {
      installation = installed()
      installation.catch(() => {
        installation = null
      })
    }
    const scope =
      audience === 'repository'
        ? { repositoryIds: [repository.id], permissions: repositoryPermissions }
        : audience === 'members'
          ? { repositoryIds: [repository.id], permissions: { members: 'read' } }
          : { repositoryNames: ['.github'], permissions: { contents: 'read' } }
    const answer = await auth({ type: 'installation', installationId: await installation, refresh, ...scope })
    return `token ${answer.token}`
  }
}

/** Keeps tokens until shortly before their end by the clock that was handed in. */
function clockCache(clock: Clock) {
  const kept = new Map<string, string>()
  return {
    get(key: string): string {
      const value = kept.get(key) ?? ''
      const expiresAt = Date.parse(value.split('|')[2] ?? '')
      return expiresAt - spareMs > clock.now().getTime() ? value : ''
    },
    set(key: string, value: string) {
      kept.set(key, value)
    },
  }
}
