import type { Instance } from '../../ledger/commands.ts'
import type { RepositoryContext } from '../repository/context.ts'

type Of = Pick<RepositoryContext, 'config' | 'repository'>

/** Where people and the CLI find the run on this control plane. */
export function pageUrl({ config, repository }: Of, run: string): string {
  return `${config.publicUrl}/v1/repos/${repository.owner}/${repository.name}/runs/${run}`
}

/** A workflow run in a browser: the web host, never the API's. */
export function workflowRunUrl({ config, repository }: Of, workflowRun: number): string {
  return `${config.serverUrl}/${repository.owner}/${repository.name}/actions/runs/${workflowRun}`
}

/** The attempt of an instance in a browser; the run's own address where it did not come from GitHub. */
export function instanceUrl(of: Of, run: string, instance: Instance | null): string {
  if (instance === null) return pageUrl(of, run)
  return `${workflowRunUrl(of, instance.workflowRunId)}/attempts/${instance.attempt}`
}

/** An issue in a browser. */
export function issueUrl({ config, repository }: Of, issue: number): string {
  return `${config.serverUrl}/${repository.owner}/${repository.name}/issues/${issue}`
}
