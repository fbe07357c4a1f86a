import { describeError } from '../../policy/redact.ts'
import type { Environment } from './address.ts'
import { type Engine, type EngineKind, engineKinds } from './engine.ts'
import { connectEngine, engineKey } from './find-engine.ts'
import { label, readOwner } from './labels.ts'
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
 * Asks each engine of this environment on which a dead agentctl made containers, and removes those that it made.
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
      const owners = new Set(dead.filter(({ engines }) => engines.includes(key)).map(({ owner }) => owner))
      await reapOn(await connectEngine(kind, environment), owners, result)
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

/** `owners` left a note: a label alone may be anybody's, also that of an image. */
async function reapOn(engine: Engine, owners: ReadonlySet<string>, result: ReapedContainers): Promise<void> {
  for (const { id, labels } of await engine.list()) {
    if (!owners.has(labels[label.owner] ?? '')) continue
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
