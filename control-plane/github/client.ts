import type { Clock } from '../../policy/ports.ts'
import { actions } from './actions.ts'
import { callerFor } from './caller.ts'
import { contents } from './contents.ts'
import { issues } from './issues.ts'
import { people } from './people.ts'
import type { GitHubRepository, GitHubSettings, RepositoryName } from './types.ts'

/**
 * GitHub for one repository, acting as our App (tokens narrowed to this repository) or with GITHUB_TOKEN. `fetch` is the
 * only way out. Keep one per repository: it holds tokens, and the pace that GitHub's limits ask for.
 */
export function githubFor(
  settings: GitHubSettings,
  fetch: typeof globalThis.fetch,
  clock: Clock,
  repository: RepositoryName,
): GitHubRepository {
  const call = callerFor(settings, fetch, clock, repository)
  const at = { owner: repository.owner, repo: repository.name }
  return {
    repository,
    ...people(call, settings, at),
    ...issues(call, at),
    ...actions(call, at),
    ...contents(call, repository, at),
  }
}
