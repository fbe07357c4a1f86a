import { createAppAuth } from '@octokit/auth-app'
import { Octokit } from '@octokit/rest'
import {
  type GitHubDouble,
  type GitHubOptions,
  type Repository,
  type RepositoryOptions,
  startGitHub,
  type Workflow,
} from '../github/index.ts'

/** A workflow whose jobs run in process: for tests of the double that need no action. */
export const plainWorkflow = (jobs: Workflow['jobs'], more: Partial<Workflow> = {}): Workflow => ({
  name: 'plain',
  path: '.github/workflows/plain.yml',
  on: ['push', 'workflow_dispatch'],
  jobs,
  ...more,
})

export interface Stage {
  github: GitHubDouble
  repository: Repository
  /** A client with this token. */
  as(token: string): Octokit
  /** A client of our App's installation on the repository. */
  installation(permissions?: { [name: string]: 'read' | 'write' }): Promise<Octokit>
  /** A client of the App itself. */
  appClient(): Octokit
}

export async function stage(options: GitHubOptions = {}, repository: Partial<RepositoryOptions> = {}): Promise<Stage> {
  const github = await startGitHub(options)
  const made = github.repositories.add({
    name: 'acme/shop',
    workflows: [plainWorkflow({ build: { steps: [{ run: () => {} }] } })],
    ...repository,
    collaborators: { alice: 'admin', bob: 'write', carol: 'triage', dave: 'read', ...repository.collaborators },
  })
  const base = { baseUrl: github.apiUrl, log: { debug() {}, info() {}, warn() {}, error() {} } }
  return {
    github,
    repository: made,
    as: token => new Octokit({ ...base, auth: token }),
    installation: async permissions => {
      const app = new Octokit({
        ...base,
        authStrategy: createAppAuth,
        auth: { appId: github.app.id, privateKey: github.app.privateKeyPem },
      })
      const installation_id = github.installations.of(made)?.id ?? 0
      const { data } = await app.rest.apps.createInstallationAccessToken({
        installation_id,
        repository_ids: [made.id],
        ...(permissions && { permissions }),
      })
      return new Octokit({ ...base, auth: data.token })
    },
    appClient: () =>
      new Octokit({
        ...base,
        authStrategy: createAppAuth,
        auth: { appId: github.app.id, privateKey: github.app.privateKeyPkcs8Pem },
      }),
  }
}

export const at = { owner: 'acme', repo: 'shop' }

/** The status of a request that must fail. */
export const statusOf = (request: Promise<unknown>): Promise<number> =>
  request.then(
    () => 0,
    (error: { status?: number }) => error.status ?? -1,
  )
