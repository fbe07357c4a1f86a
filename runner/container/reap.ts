import { describeError } from '../../policy/redact.ts'
import { bootId, pidNamespace } from '../process/containment/proc.ts'
import type { Environment } from './address.ts'
import { type Engine, type EngineKind, engineKinds } from './engine.ts'
import { connectEngine, engineKey } from './find-engine.ts'
import { isOwnerDead, label, readOwner } from './labels.ts'
import { removeParentsOf } from './memory-evidence.ts'
import { forgetNote, type Note } from './notes.ts'

/** A container that an agentctl left behind when it was killed. */
export interface ReapedContainer {
  engine: EngineKind
  id: string
  effect: string
  run: string
}

export interface ReapedContainers {
  removed: ReapedContainer[]
  /** What could not be removed, and engines that could not be asked, each with why. */
  left: { engine: EngineKind; id: string; reason: string }[]
}

/**
 * Asks each engine of this environment on which a dead agentctl made containers, and removes those whose owner is dead.
 * Another live run's are never touched; a note of an engine that this environment does not name waits for one that does.
 * Never throws.
 */
export async function reapNoted(dead: readonly Note[], environment: Environment): Promise<ReapedContainers> {
  const result: ReapedContainers = { removed: [], left: [] }
  const finished = new Set<string>()
  for (const kind of engineKinds) {
    const key = engineKey(kind, environment)
    if (key === null || !dead.some(({ engines }) => engines.includes(key))) continue
    try {
      await reapOn(await connectEngine(kind, environment), result)
      if (!result.left.some(({ engine }) => engine === kind)) finished.add(key)
    } catch (error) {
      result.left.push({ engine: kind, id: '', reason: describeError(error) })
    }
  }
  for (const note of dead) {
    if (!note.engines.every(key => finished.has(key))) continue
    const owner = readOwner(note.owner)
    if (owner !== null) await removeParentsOf(owner)
    forgetNote(note)
  }
  return result
}

async function reapOn(engine: Engine, result: ReapedContainers): Promise<void> {
  const here = { boot: bootId(), pidNamespace: pidNamespace() }
  for (const { id, labels } of await engine.list()) {
    if (!isOwnerDead(labels[label.owner], here)) continue
    try {
      await engine.kill(id)
      await engine.remove(id)
      if ((await engine.inspect(id)) !== null) throw new Error('it is still there after its removal')
      const [effect = '', run = ''] = [labels[label.effect], labels[label.run]]
      result.removed.push({ engine: engine.kind, id, effect, run })
    } catch (error) {
      result.left.push({ engine: engine.kind, id, reason: describeError(error) })
    }
  }
}
