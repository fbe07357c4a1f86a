import { setOutput } from '@actions/core'
import { sha256 } from '../policy/canonical.ts'
import type { Outcome } from './outcome.ts'

/** Above this, output `outputs` is a digest and the address to read it from (09, Limits). */
const outputsLimitBytes = 262_144

/** Sets every output of action.yml; those that this end does not have are empty. */
export function writeOutputs(outcome: Outcome): void {
  setOutput('status', outcome.status)
  setOutput('exit-code', String(outcome.exitCode))
  setOutput('run-id', outcome.run ?? '')
  setOutput('plan-digest', outcome.planDigest ?? '')
  setOutput('approval-issue-number', outcome.issue === null ? '' : String(outcome.issue.number))
  setOutput('approval-issue-url', outcome.issue?.url ?? '')
  setOutput('outputs', outputsText(outcome))
  setOutput('audit-url', outcome.auditUrl)
  setOutput('audit-head', outcome.head)
}

/** The outputs as JSON, or `{sha256, bytes, auditUrl}` of that JSON where it is too large. */
export function outputsText({ outputs, auditUrl }: Pick<Outcome, 'outputs' | 'auditUrl'>): string {
  const text = JSON.stringify(outputs ?? {})
  const bytes = Buffer.byteLength(text)
  return bytes <= outputsLimitBytes ? text : JSON.stringify({ sha256: sha256(text), bytes, auditUrl })
}
