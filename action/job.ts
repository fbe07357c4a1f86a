import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ActionError } from './failure.ts'

/** What the runner says about this job (its GITHUB_*, RUNNER_* and ACTIONS_* variables). */
export interface Job {
  /** GITHUB_WORKSPACE, the checkout. */
  checkout: string
  /** RUNNER_TEMP. */
  temp: string
  owner: string
  repo: string
  sha: string
  event: string
  actor: string
  /** GITHUB_JOB. */
  job: string
  /** GITHUB_ACTION, the step. */
  step: string
  /** GITHUB_WORKFLOW_REF, `owner/name/.github/workflows/x.yml@refs/heads/main`. */
  workflowRef: string
  apiUrl: string
  serverUrl: string
  /** Where an OIDC token is asked for; null where the job may not have one. */
  oidc: { url: string; token: string } | null
  /** Whether the event is a pull request from a fork. */
  fromFork: boolean
}

type Environment = { readonly [name: string]: string | undefined }

const required = z.object({
  GITHUB_WORKSPACE: z.string().min(1),
  RUNNER_TEMP: z.string().min(1),
  GITHUB_REPOSITORY: z.string().regex(/^[^/]+\/[^/]+$/),
  GITHUB_SHA: z.string().min(1),
  GITHUB_EVENT_NAME: z.string().min(1),
  GITHUB_JOB: z.string().min(1),
  GITHUB_ACTION: z.string().min(1),
})

/** Reads the job's variables; throws ActionError (exit 2) naming what is missing. */
export function readJob(environment: Environment): Job {
  const parsed = required.safeParse(environment, { jitless: true })
  if (!parsed.success) {
    const names = [...new Set(parsed.error.issues.map(issue => issue.path.join('.')))]
    throw new ActionError('not_a_job', `${names.join(', ')} not set: this is not a GitHub Actions job`, {
      help: 'run the Action in a workflow, or use the agentctl command line',
    })
  }
  const variables = parsed.data
  const [owner = '', repo = ''] = variables.GITHUB_REPOSITORY.split('/')
  const url = environment['ACTIONS_ID_TOKEN_REQUEST_URL'] ?? ''
  const token = environment['ACTIONS_ID_TOKEN_REQUEST_TOKEN'] ?? ''
  return {
    checkout: variables.GITHUB_WORKSPACE,
    temp: variables.RUNNER_TEMP,
    owner,
    repo,
    sha: variables.GITHUB_SHA,
    event: variables.GITHUB_EVENT_NAME,
    actor: environment['GITHUB_ACTOR'] ?? '',
    job: variables.GITHUB_JOB,
    step: variables.GITHUB_ACTION,
    workflowRef: environment['GITHUB_WORKFLOW_REF'] ?? '',
    apiUrl: (environment['GITHUB_API_URL'] || 'https://api.github.com').replace(/\/$/, ''),
    serverUrl: (environment['GITHUB_SERVER_URL'] || 'https://github.com').replace(/\/$/, ''),
    oidc: url === '' || token === '' ? null : { url, token },
    fromFork: isFromFork(environment['GITHUB_EVENT_PATH']),
  }
}

const pullRequestSchema = z.object({
  pull_request: z.object({
    head: z.object({ repo: z.object({ id: z.int() }).nullable() }),
    base: z.object({ repo: z.object({ id: z.int() }) }),
  }),
})

function isFromFork(eventPath: string | undefined): boolean {
  if (eventPath === undefined || eventPath === '') return false
  try {
    const { pull_request } = pullRequestSchema.parse(JSON.parse(readFileSync(eventPath, 'utf8')))
    return pull_request.head.repo?.id !== pull_request.base.repo.id
  } catch {
    // Not a pull request, or no payload: only the wording of a refusal depends on it.
    return false
  }
}
