import { compileHostRules, type HostRules } from './hosts.ts'
import type { Policy } from './policy.ts'

/** A policy's lists as sets, so that a decision costs the same under 20 rules as under 2,000. */
export interface CompiledPolicy {
  toolsAllow: ReadonlySet<string> | 'any'
  toolsDeny: ReadonlySet<string>
  providers: ReadonlySet<string> | 'any'
  writableRoots: ReadonlySet<string>
  environment: ReadonlySet<string>
  /** File names that may run from trusted places. */
  programs: ReadonlySet<string>
  /** Exact real paths that may run wherever they lie. */
  programFiles: ReadonlySet<string>
  secretFileRoots: ReadonlySet<string>
  /** As `programs` and `programFiles`, of `secretProcessAllowlist`. */
  helpers: ReadonlySet<string>
  helperFiles: ReadonlySet<string>
  /** Hosts that may be reached, and suffixes whose subdomains may. */
  hosts: HostRules
}

const compiledPolicies = new WeakMap<Policy, CompiledPolicy>()

/** Compiled once per policy object: a policy is never changed after it was first decided with. */
export function compiledPolicy(policy: Policy): CompiledPolicy {
  const known = compiledPolicies.get(policy)
  if (known !== undefined) return known
  const compiled: CompiledPolicy = {
    toolsAllow: anyOrSet(policy.toolsAllow),
    toolsDeny: new Set(policy.toolsDeny),
    providers: anyOrSet(policy.providers),
    writableRoots: new Set(policy.writableRoots),
    environment: new Set(policy.environmentAllowlist),
    programs: new Set(policy.processAllowlist.filter(entry => !entry.includes('/'))),
    programFiles: new Set(policy.processAllowlist.filter(entry => entry.includes('/'))),
    secretFileRoots: new Set(policy.secretFileRoots),
    helpers: new Set(policy.secretProcessAllowlist.filter(entry => !entry.includes('/'))),
    helperFiles: new Set(policy.secretProcessAllowlist.filter(entry => entry.includes('/'))),
    hosts: compileHostRules(policy.networkAllowlist),
  }
  compiledPolicies.set(policy, compiled)
  return compiled
}

function anyOrSet(list: readonly string[] | 'any'): ReadonlySet<string> | 'any' {
  return list === 'any' ? list : new Set(list)
}
