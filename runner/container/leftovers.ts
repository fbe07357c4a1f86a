import { bootId, pidNamespace } from '../process/containment/proc.ts'
import type { Environment } from './address.ts'
import { isOwnerDead } from './labels.ts'
import { readNotes } from './notes.ts'
import type { ReapedContainers } from './reap.ts'

/**
 * Removes containers that agentctl processes of this user left on this host when they were killed. Where none did, it costs
 * a look into a directory, and no engine is asked. Never throws.
 */
export async function reapContainers(environment: Environment): Promise<ReapedContainers> {
  if (process.platform !== 'linux') return { removed: [], left: [] }
  const notes = readNotes()
  if (notes.length === 0) return { removed: [], left: [] }
  const here = { boot: bootId(), pidNamespace: pidNamespace() }
  const dead = notes.filter(({ owner }) => isOwnerDead(owner, here))
  if (dead.length === 0) return { removed: [], left: [] }
  return await (await import('./reap.ts')).reapNoted(dead, environment)
}
