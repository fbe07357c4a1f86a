import {
  type NetworkFact,
  originOfTarget,
  type Target,
  type TargetFaultCause,
  targetRemedies,
} from '../../policy/decision/index.ts'
import { GuardedError, networkFault, refusedFault } from './network-fault.ts'
import type { KnownNetwork } from './pinned-connector.ts'

/** The refusal of a URL that cannot be read. It never repeats the URL, which may hold credentials. */
export function unreadableUrl(cause: TargetFaultCause, detail: string): GuardedError {
  const refusal = { rule: cause, field: null, subject: 'the URL', detail, change: targetRemedies[cause] }
  return new GuardedError(refusedFault(refusal))
}

/** The fact of a request as it will be used: known, about its own target, and no longer anybody else's to change. */
export function usableFact(fact: NetworkFact, target: Target): KnownNetwork {
  const origin = originOfTarget(target)
  if (!fact.known) throw unknownFault(origin, fact.cause, fact.detail)
  if (originOfTarget(fact.target) !== origin) {
    const detail = `its fact is about ${originOfTarget(fact.target)}`
    const refusal = { rule: 'pinned_target', field: null, subject: origin, detail, change: 'give the fact of this URL' }
    throw new GuardedError(refusedFault(refusal))
  }
  return structuredClone(fact)
}

function unknownFault(origin: string, cause: string, detail: string): GuardedError {
  if (cause === 'proxy_variable')
    return new GuardedError(networkFault('proxy', cause, `${origin}: ${detail}; correct it on the runner`))
  if (cause.startsWith('dns_')) {
    const remedy = 'check the name and the resolver of the runner'
    return new GuardedError(networkFault('dns', cause, `${origin}: ${detail}; ${remedy}`))
  }
  const refusal = { rule: cause, field: null, subject: origin, detail, change: 'establish the fact first' }
  return new GuardedError(refusedFault(refusal))
}
