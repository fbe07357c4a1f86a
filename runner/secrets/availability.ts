import {
  type CompiledPolicy,
  compiledPolicy,
  type Policy,
  policyOrigins,
  policyValues,
  type Refusal,
  refusedSource,
  remedyFor,
} from '../../policy/decision/index.ts'
import type { DocumentSecret, EffectivePolicy } from '../../policy/document/index.ts'
import { closeProcessPlace } from '../facts/process-fact.ts'
import { openWorkspace } from '../facts/workspace.ts'
import type { RunnerPorts } from '../run.ts'
import { lookAtSecretFile } from './file.ts'
import { findHelper, type HelperSurroundings } from './helper.ts'

/** Whether a secret could be had on this host: `refused` where a rule stands in the way, `missing` where it is not there. */
export interface Availability {
  status: 'available' | 'refused' | 'missing'
  /** Rule, what it refuses and what to do; empty where it is available. */
  rule: string
  detail: string
  remedy: string
}

type Ports = Pick<RunnerPorts, 'workspace' | 'environment' | 'temporaryDirectories' | 'searchPath'>

/**
 * Tells of each secret whether it could be had here under this policy, in their order. No value is read and no helper is
 * run. Throws UnknownFact where the policy's workspace cannot be had.
 */
export function secretAvailability(
  ports: Ports,
  effective: EffectivePolicy,
  secrets: readonly Pick<DocumentSecret, 'name' | 'use' | 'reference'>[],
): Availability[] {
  const policy = policyValues(effective)
  const workspace = openWorkspace({ workspace: ports.workspace, policy, protectedPaths: [], sourceFiles: [] })
  const { temporaryDirectories, searchPath, environment } = ports
  const here = {
    surroundings: { workspace, temporaryDirectories, searchPath },
    environment,
    rules: compiledPolicy(policy),
  }
  return secrets.map(secret => told(refusalOf(here, secret), policyOrigins(effective)))
}

interface Here {
  surroundings: HelperSurroundings
  environment: Ports['environment']
  rules: CompiledPolicy
}

function refusalOf(
  here: Here,
  { name, use, reference }: Pick<DocumentSecret, 'name' | 'use' | 'reference'>,
): Refusal | null {
  const { rules, surroundings } = here
  const unlisted = namesOf(name, use, reference).find(one => !rules.environment.has(one))
  if (unlisted !== undefined) {
    const field = 'environmentAllowlist'
    return {
      rule: field,
      field,
      detail: `the variable \`${unlisted}\` is not on the list`,
      change: `add \`${unlisted}\``,
    }
  }
  if ('env' in reference) return unsetVariable(here, reference.env)
  if ('file' in reference) return refusedSource(rules, lookAtSecretFile(surroundings.workspace, reference.file))
  const { fact, place } = findHelper(surroundings, reference.process)
  if (place !== null) closeProcessPlace(place)
  return refusedSource(rules, fact)
}

/** The variables that must be listed: of an action's variable its own name too, of a provider's credential none. */
function namesOf(name: string, use: DocumentSecret['use'], reference: DocumentSecret['reference']): string[] {
  if (use === 'credential') return []
  return [...(use === 'variable' ? [name] : []), ...('env' in reference ? [reference.env] : [])]
}

function unsetVariable({ environment }: Here, name: string): Refusal | null {
  const isSet = environment[name] !== undefined
  if (isSet && environment[name] !== '') return null
  const [rule, what] = isSet ? ['empty_variable', 'is empty'] : ['missing_variable', 'is not set']
  return { rule, field: null, detail: `\`${name}\` ${what} on this host`, change: `set \`${name}\` for the job` }
}

const missing: ReadonlySet<string> = new Set([
  'missing_variable',
  'empty_variable',
  'not_found',
  'dangling_symlink',
  'empty_secret',
  'command_not_found',
])

function told(
  refusal: Refusal | null,
  origins: { [Field in keyof Policy]: 'document' | 'floor' | 'default' },
): Availability {
  if (refusal === null) return { status: 'available', rule: '', detail: '', remedy: '' }
  const { rule, field, detail, change } = refusal
  const remedy = field === null ? change : remedyFor({ origins }, field, change)
  return { status: missing.has(rule) ? 'missing' : 'refused', rule, detail, remedy }
}
