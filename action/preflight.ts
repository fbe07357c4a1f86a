import { ActionError } from './failure.ts'
import type { Inputs } from './inputs.ts'
import type { Job } from './job.ts'

/** Refuses by name what would only fail later, with the line to add (09, Permissions). Throws ActionError, exit 2. */
export function preflight(inputs: Inputs, job: Job, nodeVersion = process.versions.node): void {
  const major = Number.parseInt(nodeVersion, 10)
  if (major < 24)
    throw new ActionError('old_runner', `this runner starts Actions with Node ${nodeVersion}; agentctl needs Node 24`, {
      help: 'update the runner to 2.327.1 or later',
    })
  if (inputs['control-plane-url'] === null) return
  if (job.oidc === null) throw noOidcToken(job)
  if (inputs['github-token'] === '')
    throw new ActionError('no_token', 'input github-token is empty: an approval issue could not be opened', {
      help: 'leave github-token out, its default is the job’s token, and add `permissions: { issues: write }`',
    })
}

function noOidcToken(job: Job): ActionError {
  if (job.fromFork)
    return new ActionError(
      'fork_pull_request',
      'a pull request from a fork gets no OIDC token, so no run can be attached',
      {
        help: 'run agentctl on `push` or `workflow_dispatch` of the base repository: `if: github.event.pull_request.head.repo.full_name == github.repository`',
      },
    )
  if (job.actor === 'dependabot[bot]')
    return new ActionError(
      'dependabot',
      'a run that Dependabot started gets no OIDC token, so no run can be attached',
      {
        help: "skip it: `if: github.actor != 'dependabot[bot]'`",
      },
    )
  return new ActionError('missing_permission', 'the job may not ask for an OIDC token, which control-plane-url needs', {
    help: 'add to the job: `permissions: { contents: read, id-token: write, issues: write }`',
  })
}
