import { Octokit } from '@octokit/rest'
import type { Clock } from '../../policy/ports.ts'
import { failure, failureOf } from './failure.ts'
import { paceBy } from './pace.ts'
import { type Result, success } from './result.ts'
import { type Audience, tokensFor } from './tokens.ts'
import type { GitHubSettings, RepositoryName } from './types.ts'

const timeoutMs = 15_000

/**
 * Runs one or more requests and says what came of them: tokens, pace, time limit and failures in one place. `what` names
 * the call in failures; `write` counts it against GitHub's content limits; `as` is who the client acts as. `use` turns the
 * answer into ours; whatever it throws is a failure.
 */
export type Caller = <Value>(
  call: { what: string; write?: boolean; as?: Audience },
  use: (octokit: Octokit) => Promise<Value>,
) => Promise<Result<Value>>

export function callerFor(
  settings: GitHubSettings,
  fetch: typeof globalThis.fetch,
  clock: Clock,
  repository: RepositoryName,
): Caller {
  const bounded: typeof globalThis.fetch = (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) })
  const options = {
    baseUrl: settings.apiUrl,
    userAgent: 'agentctl',
    request: { fetch: bounded },
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  }
  const tokens = tokensFor(settings, new Octokit(options).request, clock, repository)
  const pace = paceBy(clock)
  const acting = (audience: Audience): Octokit => {
    const octokit = new Octokit(options)
    octokit.hook.wrap('request', async (request, parameters) => {
      parameters.headers.authorization = await tokens(audience)
      try {
        return await request(parameters)
      } catch (error) {
        if (!(error instanceof Error) || !('status' in error) || error.status !== 401 || settings.app === null)
          throw error
        parameters.headers.authorization = await tokens(audience, true)
        return await request(parameters)
      }
    })
    return octokit
  }
  const clients = new Map<Audience, Octokit>()
  return async (call, use) => {
    const wait = pace.ask(call.write === true)
    if (wait !== null) return failure(429, 'rate_limited', `${call.what}: waiting for GitHub's rate limit`, wait)
    const audience = call.as ?? 'repository'
    try {
      const octokit = clients.get(audience) ?? acting(audience)
      clients.set(audience, octokit)
      return success(await use(octokit))
    } catch (error) {
      const failed = failureOf(error, call.what, clock)
      if (failed.retryAt !== null) pace.hold(failed.retryAt)
      return failed
    }
  }
}

function quiet(): void {}
