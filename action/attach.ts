import { z } from 'zod'
import { LedgerError } from '../ledger/port.ts'
import { type Call, type CallContext, call, json } from '../ledger/remote-call.ts'
import { type AttachAnswer, type AttachRequest, attachAnswerSchema, problemSchema } from '../ledger/wire.ts'
import type { Commit } from '../policy/approval/record.ts'
import { digest } from '../policy/canonical.ts'
import { ActionError } from './failure.ts'
import { type Inputs, requestedSettings } from './inputs.ts'
import type { Job } from './job.ts'

/** Where an OIDC token is asked for, and for whom. */
export interface TokenSource {
  url: string
  token: string
  /** Origin of the control plane. */
  audience: string
}

/** What a post step is told whose main began no run. */
export const nothingToSettle = 'nothing_to_settle'

/** Who this job is (04, the instance), what it would run, and what it asks for about approvals. */
export function attachRequest(inputs: Inputs, job: Job, document: string, commit: Commit): AttachRequest {
  return {
    version: 1,
    document,
    step: job.step,
    job: job.job,
    jobId: inputs['job-id'],
    matrixDigest: digest(inputs.matrix),
    commit,
    agentctlRun: inputs['agentctl-run'],
    settings: requestedSettings(inputs),
  }
}

/**
 * Exchanges an OIDC token for this instance's run (POST /v1/attach). Every try brings a fresh token, since each counts
 * once. Throws LedgerError: lease_held names the holder, unreachable says that nothing was lost; ActionError
 * (exit 2) where inputs and floor leave nobody to decide, `nothing_to_settle` where a post step's main began no run.
 */
export async function attach(context: CallContext, source: TokenSource, request: AttachRequest): Promise<AttachAnswer> {
  const doing = 'attaching to the control plane'
  const attaching: Call = {
    method: 'POST',
    url: `${source.audience}/v1/attach`,
    authorization: async () => `Bearer ${await oidcToken(context, source)}`,
    body: { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(request)) },
    doing,
    remedies: {
      unauthorised:
        'check that control-plane-url is the address that its OIDC_AUDIENCE names, and that its GitHub App is installed on this repository',
      not_found: 'check control-plane-url, and that its GitHub App is installed on this repository',
      lease_held: 'wait until the holder ends or cancel it, then re-run this job',
    },
  }
  const response = await call(context, attaching, [422])
  if (response.status === 422) throw refused(doing, await json(response, problemSchema, doing))
  return json(response, attachAnswerSchema, doing)
}

/** What the step asks for and the floor does not allow is a fault of the inputs, as it is without a control plane. */
function refused(doing: string, { code, title, detail = title }: z.infer<typeof problemSchema>): Error {
  if (code === 'settings_refused') return new ActionError('invalid_input', detail)
  if (code === nothingToSettle) return new ActionError(code, detail)
  return new LedgerError('invalid', `${doing}: ${detail}`)
}

const tokenSchema = z.object({ value: z.string().min(1) })

async function oidcToken(context: CallContext, source: TokenSource): Promise<string> {
  const doing = 'asking GitHub for an OIDC token'
  const url = new URL(source.url)
  url.searchParams.set('audience', source.audience)
  const response = await call(context, {
    method: 'GET',
    url: url.href,
    authorization: () => `Bearer ${source.token}`,
    doing,
    remedies: { unauthorised: 'add to the job: `permissions: { id-token: write }`' },
  })
  return (await json(response, tokenSchema, doing)).value
}
