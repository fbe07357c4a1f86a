import type { Policy } from '../../policy/decision/index.ts'
import type { SecretReference } from '../../policy/document/plan.ts'
import { SecretRefused } from '../secrets/refused.ts'
import type { Secrets } from '../secrets.ts'
import { certificatesOf } from './authorities.ts'
import { GuardedError, refusedFault } from './network-fault.ts'

/**
 * Certificates of `network.customCa`, none where the policy names none. A reference that may not be read, has no value or
 * holds anything but certificates is a GuardedError: an authority that was asked for is never left out silently.
 */
export async function customAuthorities(policy: Policy, secrets: Pick<Secrets, 'read'>): Promise<readonly string[]> {
  const reference = policy.network.customCa
  if (reference === null) return []
  const subject = `customCa ${describe(reference)}`
  if ('env' in reference && !policy.environmentAllowlist.includes(reference.env)) {
    const change = `add \`${reference.env}\``
    const detail = 'the variable may not be read'
    throw refused({ rule: 'environmentAllowlist', field: 'environmentAllowlist', subject, detail, change })
  }
  const rule = { rule: 'network.customCa', field: null, subject }
  const { value } = await secrets.read(reference).catch((error: unknown) => {
    if (error instanceof SecretRefused) throw refused({ ...error.refusal, subject })
    throw refused({ ...rule, detail: 'it cannot be read', change: 'correct the reference' })
  })
  if (value === undefined)
    throw refused({ ...rule, detail: 'it is not set on this host', change: 'set it for the job' })
  const found = certificatesOf(value)
  if (!found.ok) throw refused({ ...rule, detail: found.detail, change: 'give the certificates alone' })
  return found.certificates
}

function describe(reference: SecretReference): string {
  if ('env' in reference) return `{env: ${reference.env}}`
  return 'file' in reference ? `{file: ${reference.file}}` : `{process: ${reference.process.command}}`
}

function refused(refusal: Parameters<typeof refusedFault>[0]): GuardedError {
  return new GuardedError(refusedFault(refusal))
}
