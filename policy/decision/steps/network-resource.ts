import type { NetworkFact } from '../network/fact.ts'
import { judgeNetwork } from '../network/judge.ts'
import { originOfTarget, targetRemedies } from '../network/target.ts'
import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'

const remedies: { readonly [cause: string]: string } = {
  ...targetRemedies,
  dns_not_found: 'correct the name, or add it to DNS',
  dns_timeout: 'check the resolver of the runner, or raise network.connectTimeoutSeconds',
  dns_failed: 'check the resolver of the runner',
  proxy_variable: 'correct the proxy variable of the runner',
}

/** Scheme, host, port, and every address that the one look-up gave; the same addresses are what the client connects to. */
export function networkResource(question: Question, fact: NetworkFact): Answer {
  if (!fact.known) {
    const remedy = remedies[fact.cause] ?? 'make the host resolvable for agentctl, or change the task'
    const detail = fact.detail || 'it is not known'
    return deny('resource', fact.cause || 'missing_facts', question.effect.operation, 'runtime', detail, remedy)
  }
  const { hosts } = question.compiled
  const refused = judgeNetwork({ hosts, network: question.policy.network }, fact)
  if (refused === null) {
    const subject = originOfTarget(fact.target)
    return allow('resource', 'networkAllowlist', subject, originOf(question, 'networkAllowlist'))
  }
  const { rule, field, subject, detail, change } = refused
  if (field === null) return deny('resource', rule, subject, 'runtime', detail, change)
  return deny('resource', rule, subject, originOf(question, field), detail, remedyFor(question, field, change))
}
