import { isLongTermMemory, isolations } from '../../effect.ts'
import type { Facts } from '../facts.ts'
import { type Answer, allow, deny, type Question } from '../question.ts'
import { containerResource } from './container-resource.ts'
import { ledgerResource } from './ledger-resource.ts'
import { networkResource } from './network-resource.ts'
import { readResource, writeResource } from './path-resource.ts'
import { processResource } from './process-resource.ts'

/** Path, process, environment and host, judged by what runner/facts found on this host. A missing fact is a deny. */
export function resource(question: Question): Answer {
  const { facts, effect } = question
  const needed = neededFacts(question)
  if (needed === null) {
    const remedy = `use an action that this version can bound`
    return deny(
      'resource',
      'missing_facts',
      effect.operation,
      'runtime',
      'nothing is known about what it would reach',
      remedy,
    )
  }
  if (needed !== facts.kind) {
    const detail = `it needs ${needed} facts and has ${facts.kind}`
    return deny(
      'resource',
      'missing_facts',
      effect.operation,
      'runtime',
      detail,
      'report this: the runner must establish them',
    )
  }
  const weak = tooWeak(question)
  if (weak !== null) return weak
  if (facts.kind === 'read') return readResource(question, facts.path)
  if (facts.kind === 'write') return writeResource(question, facts.path)
  if (facts.kind === 'process') return processResource(question, facts.process)
  if (facts.kind === 'container') return containerResource(question, facts.container)
  if (facts.kind === 'network') return networkResource(question, facts.network)
  if (facts.kind === 'ledger') return ledgerResource(facts.ledger)
  return allow('resource', 'no_resource', effect.operation, 'runtime')
}

const readers: ReadonlySet<string> = new Set(['builtin.read', 'builtin.workspace.read'])

/** The host's floor bounds from below where a process runs, whatever the repository's said when the plan was made. */
function tooWeak({ effect, hostFloor }: Question): Answer | null {
  const least = hostFloor?.minimumIsolation
  if (effect.effectClass !== 'process_execution' || least === undefined) return null
  if (isolations.indexOf(effect.isolation) >= isolations.indexOf(least)) return null
  const detail = `it is weaker than the ${least} that the host's floor requires`
  return deny(
    'resource',
    'minimumIsolation',
    `isolation ${effect.isolation}`,
    'floor',
    detail,
    `use isolation: ${least}`,
  )
}

/** Kind of facts without which an effect cannot be judged; null where no kind of facts would be enough. */
function neededFacts(question: Question): Facts['kind'] | null {
  const { effectClass, operation, tool, isolation } = question.effect
  if (isLongTermMemory(operation)) return 'ledger'
  switch (effectClass) {
    case 'pure':
    case 'internal_state':
      return 'none'
    case 'observe':
      if (readers.has(operation) || tool === 'filesystem.read') return 'read'
      return question.facts.kind === 'read' || question.facts.kind === 'network' ? question.facts.kind : 'none'
    case 'workspace_mutate':
      return 'write'
    case 'process_execution':
      return isolation === 'container' ? 'container' : 'process'
    case 'external_mutate':
    case 'remote_agent':
    case 'model':
      return 'network'
    default:
      return null
  }
}
