import { LedgerError, type LedgerErrorCode } from '../../ledger/port.ts'
import { type Failure, isTransient } from '../github/index.ts'
import { type Answer, answered, ProblemError, problem, type Refusal } from '../problem.ts'

const statuses: { [Code in LedgerErrorCode]: number } = {
  stale_epoch: 409,
  lease_held: 409,
  not_found: 404,
  conflict: 409,
  invalid: 422,
  locked: 503,
  read_only: 503,
  full: 507,
  corrupt: 500,
  newer: 500,
  unreachable: 503,
  unauthorised: 401,
}

/** The answer of `f`: its value, or the refusal that it threw. Anything else thrown is a fault of ours and goes on. */
export async function answerOf<T>(f: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return answered(await f())
  } catch (error) {
    if (error instanceof ProblemError) return { ok: false, refusal: error.refusal }
    if (error instanceof LedgerError) return { ok: false, refusal: refusalOf(error) }
    throw error
  }
}

function refusalOf({ code, message }: LedgerError): Refusal {
  const status = statuses[code]
  return { status, code, message, retryAfter: status === 503 ? 2 : null }
}

/** GitHub kept us from knowing: unavailable where that passes by itself, else a refusal that names what is missing. */
export function githubProblem(failure: Failure, wanted: string, now: Date): ProblemError {
  const seconds =
    failure.retryAt === null ? 5 : Math.max(1, Math.ceil((Date.parse(failure.retryAt) - now.getTime()) / 1000))
  if (isTransient(failure)) {
    return problem(
      503,
      'github_unavailable',
      `GitHub did not say ${wanted} (${failure.message}); nothing was allowed: try again`,
      seconds,
    )
  }
  return problem(403, `github_${failure.code}`, `GitHub refused to say ${wanted}: ${failure.message}`)
}
