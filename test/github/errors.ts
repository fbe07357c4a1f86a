/**
 * Every error that the double answers with, each with where GitHub answers so. Shapes are GitHub's `basic-error` and `validation-error`.
 */
export class ApiError extends Error {
  readonly status: number
  readonly body: { message: string; documentation_url: string; status?: string; errors?: object[] }
  readonly headers: { [name: string]: string }

  constructor(status: number, message: string, more: { errors?: object[]; headers?: { [name: string]: string } } = {}) {
    super(message)
    this.status = status
    this.body = {
      message,
      ...(more.errors && { errors: more.errors }),
      documentation_url: 'https://docs.github.com/rest',
      status: String(status),
    }
    this.headers = more.headers ?? {}
  }
}

// https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api: 404 where the caller may not know that it exists.
export const notFound = (): ApiError => new ApiError(404, 'Not Found')
// https://docs.github.com/rest/authentication/authenticating-to-the-rest-api: failed login attempts.
export const badCredentials = (): ApiError => new ApiError(401, 'Bad credentials')
export const requiresAuthentication = (): ApiError => new ApiError(401, 'Requires authentication')
// https://github.com/octokit/auth-app.js/issues/166 and the retry in @octokit/auth-app: texts that it matches on.
export const undecodableJwt = (): ApiError => new ApiError(401, 'A JSON web token could not be decoded')
export const expiredJwt = (): ApiError =>
  new ApiError(
    401,
    "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
  )
export const lateJwt = (): ApiError => new ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
export const futureJwt = (): ApiError =>
  new ApiError(401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
// https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api: insufficient permissions of an App or job token.
// The header names what would have sufficed, alternatives by `;`.
export const notByIntegration = (accepted?: readonly (readonly [name: string, level: string])[]): ApiError =>
  new ApiError(403, 'Resource not accessible by integration', {
    headers: accepted
      ? { 'x-accepted-github-permissions': accepted.map(([name, level]) => `${name}=${level}`).join('; ') }
      : {},
  })
// https://docs.github.com/apps/maintaining-github-apps/suspending-a-github-app-installation
export const suspended = (): ApiError => new ApiError(403, 'This installation has been suspended')
// https://docs.github.com/rest/collaborators/collaborators: as the API answers people without the role that a write needs.
export const needsAdmin = (): ApiError => new ApiError(403, 'Must have admin rights to Repository.')
// https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api: a User-Agent is required.
export const needsUserAgent = (): ApiError =>
  new ApiError(
    403,
    'Request forbidden by administrative rules. Please make sure your request has a User-Agent header (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). Check https://developer.github.com for other possible causes.',
  )
// https://docs.github.com/rest/about-the-rest-api/api-versions: an unknown X-GitHub-Api-Version.
export const unknownVersion = (): ApiError => new ApiError(400, 'Unsupported API version')
// https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api: bodies that are no JSON.
export const problemsParsing = (): ApiError => new ApiError(400, 'Problems parsing JSON')
// https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api: validation failed.
export const invalid = (resource: string, field: string, code: string, message?: string): ApiError =>
  new ApiError(422, 'Validation Failed', {
    errors: [{ resource, field, code, ...(message !== undefined && { message }) }],
  })
// https://docs.github.com/repositories/archiving-a-github-repository and go-github issue 1655: any write to an archived repository.
export const archived = (): ApiError => new ApiError(403, 'Repository was archived so is read-only.')
// https://docs.github.com/rest/issues/issues: 410 where issues are disabled, or the issue was deleted.
export const issuesDisabled = (): ApiError => new ApiError(410, 'Issues has been disabled in this repository.')
export const issueDeleted = (): ApiError => new ApiError(410, 'This issue was deleted')
// https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api: follow redirects; `moved_permanently` in the description.
export const moved = (location: string, get: boolean): ApiError => {
  const error = new ApiError(get ? 301 : 307, 'Moved Permanently', { headers: { location } })
  return Object.assign(error, {
    body: { message: 'Moved Permanently', url: location, documentation_url: error.body.documentation_url },
  })
}
// https://github.com/NVIDIA-NeMo/RL/pull/1193, https://github.com/metabase/metabase/pull/70916, https://github.com/cli/cli/issues/9989.
export const jobRunning = (): ApiError => new ApiError(403, 'The workflow run containing this job is already running')
export const runRunning = (): ApiError => new ApiError(403, 'This workflow is already running')
export const cannotRetry = (): ApiError => new ApiError(403, 'This workflow run cannot be retried')
export const tooOld = (): ApiError =>
  new ApiError(403, 'Unable to retry this workflow run because it was created over a month ago')
// https://docs.github.com/rest/actions/workflow-runs: 409 where there is nothing to cancel.
export const cannotCancel = (): ApiError => new ApiError(409, 'Cannot cancel a workflow run that is completed.')
// https://docs.github.com/rest/actions/workflows: texts as go-github issue 2086 and cli/cli issue 4243 quote them.
export const noDispatchTrigger = (): ApiError => new ApiError(422, "Workflow does not have 'workflow_dispatch' trigger")
export const noSuchRef = (ref: string): ApiError => new ApiError(422, `No ref found for: ${ref}`)
export const unexpectedInputs = (names: string[]): ApiError =>
  new ApiError(422, `Unexpected inputs provided: ${JSON.stringify(names)}`)
export const missingInput = (name: string): ApiError => new ApiError(422, `Required input '${name}' not provided`)
export const disabledWorkflow = (): ApiError =>
  new ApiError(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api: primary (403 or 429, remaining 0) and secondary
// (403 or 429, Retry-After); words as codeql issue 5106 and release-changelog-builder-action issue 948 quote them.
export const primaryLimit = (status: 403 | 429, whose: string, headers: { [name: string]: string }): ApiError =>
  new ApiError(status, `API rate limit exceeded for ${whose}.`, { headers })
export const secondaryLimit = (retryAfter: number, status: 403 | 429 = 403): ApiError =>
  new ApiError(status, 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.', {
    headers: { 'retry-after': String(retryAfter) },
  })
// https://docs.github.com/rest/issues/comments: 403 on a locked conversation; text as probot/lock issue threads quote it.
export const locked = (): ApiError => new ApiError(403, 'Unable to create comment because issue is locked.')
// https://docs.github.com/rest/commits/statuses and /commits: 422 for a well-formed id that names no commit.
export const noCommit = (sha: string): ApiError => new ApiError(422, `No commit found for SHA: ${sha}`)
// https://docs.github.com/rest/apps/apps#create-an-installation-access-token-for-an-app: 422 for what the installation lacks.
export const repositoryNotAccessible = (): ApiError =>
  new ApiError(
    422,
    'There is at least one repository that does not exist or is not accessible to the parent installation.',
  )
export const permissionNotGranted = (): ApiError =>
  new ApiError(422, 'The permissions requested are not granted to this installation.')
