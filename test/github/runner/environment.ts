import type { World } from '../world.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'

export interface JobPlaces {
  workspace: string
  temp: string
  tools: string
  home: string
  eventPath: string
}

/** The `github` context as far as action.yml and workflows read it. */
export function githubContext(world: World, run: WorkflowRun, job: JobAttempt, token: string) {
  const owner = run.repository.owner
  return {
    token,
    actor: run.actor.login,
    actor_id: String(run.actor.id),
    api_url: world.apiUrl,
    base_ref: run.baseRef,
    event: run.payload,
    event_name: run.event,
    graphql_url: `${world.apiUrl}/graphql`,
    head_ref: run.headRef,
    job: job.key,
    ref: run.ref,
    ref_name: run.ref.replace(/^refs\/(?:heads|tags|pull)\//, ''),
    ref_type: run.ref.startsWith('refs/tags/') ? 'tag' : 'branch',
    repository: `${owner.login}/${run.repository.name}`,
    repository_id: String(run.repository.id),
    repository_owner: owner.login,
    repository_owner_id: String(owner.id),
    repository_visibility: run.repository.private ? 'private' : 'public',
    run_attempt: String(job.attempt),
    run_id: String(run.id),
    run_number: String(run.number),
    server_url: world.serverUrl,
    sha: run.sha,
    triggering_actor: run.attempts.find(a => a.number === job.attempt)?.triggeringActor.login ?? run.actor.login,
    workflow: run.workflow.name,
    workflow_ref: workflowRef(run),
    workflow_sha: run.sha,
  }
}

/** `github.workflow_ref`: the workflow that the event started, also in the jobs of those that it calls. */
export const workflowRef = (run: WorkflowRun): string => fileRef(run, run.workflow.path)

/** The OIDC claim `job_workflow_ref`: the file that defines the job (https://docs.github.com/en/actions/reference/security/oidc). */
export const jobWorkflowRef = (run: WorkflowRun, job: JobAttempt): string =>
  fileRef(run, job.call?.workflow.path ?? run.workflow.path)

const fileRef = (run: WorkflowRun, path: string): string =>
  `${run.repository.owner.login}/${run.repository.name}/${path}@${run.ref}`

/** Every variable that a self-hosted runner sets for a step, before inputs, env and file commands. */
export function jobEnvironment(
  world: World,
  run: WorkflowRun,
  job: JobAttempt,
  places: JobPlaces,
  oidc: { url: string; token: string } | null,
): { [name: string]: string } {
  const { token: _, event: __, ...context } = githubContext(world, run, job, '')
  const github = Object.fromEntries(
    Object.entries(context).map(([name, value]) => [`GITHUB_${name.toUpperCase()}`, value]),
  )
  return {
    CI: 'true',
    HOME: places.home,
    LANG: 'C.UTF-8',
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    GITHUB_ACTIONS: 'true',
    ...github,
    GITHUB_EVENT_PATH: places.eventPath,
    GITHUB_RETENTION_DAYS: '90',
    GITHUB_REF_PROTECTED: 'false',
    GITHUB_WORKSPACE: places.workspace,
    RUNNER_ARCH: process.arch === 'arm64' ? 'ARM64' : 'X64',
    RUNNER_ENVIRONMENT: 'self-hosted',
    RUNNER_NAME: job.runnerName ?? 'runner',
    RUNNER_OS: 'Linux',
    RUNNER_TEMP: places.temp,
    RUNNER_TOOL_CACHE: places.tools,
    RUNNER_WORKSPACE: places.workspace.slice(0, places.workspace.lastIndexOf('/')),
    ACTIONS_RUNTIME_TOKEN: `runtime-${job.id}`,
    ACTIONS_RUNTIME_URL: `${world.serverUrl}/_services/pipelines/`,
    ACTIONS_RESULTS_URL: `${world.serverUrl}/_services/results/`,
    ...(oidc && { ACTIONS_ID_TOKEN_REQUEST_URL: oidc.url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: oidc.token }),
  }
}
