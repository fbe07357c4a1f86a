import type { Permissions } from '../model.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'

/**
 * Permissions of a job's GITHUB_TOKEN by API names, without the OIDC one. A fork's pull request keeps reads only; Dependabot's
 * are read-only unless the workflow says `permissions`
 * (https://docs.github.com/en/code-security/dependabot/troubleshooting-dependabot/troubleshooting-dependabot-on-github-actions).
 */
export function tokenPermissions(run: WorkflowRun, job: JobAttempt): Permissions {
  const entries = Object.entries(job.permissions)
    .filter(([name, level]) => name !== 'id-token' && level !== 'none')
    .map(([name, level]) => [name.replaceAll('-', '_'), run.trust === 'fork' ? 'read' : level] as const)
  return { metadata: 'read', ...Object.fromEntries(entries) } as Permissions
}

/** Whether the job's steps learn where to ask for an OIDC token. */
export const mayAskForIdentity = (run: WorkflowRun, job: JobAttempt): boolean =>
  job.permissions['id-token'] === 'write' && run.trust === 'full'
