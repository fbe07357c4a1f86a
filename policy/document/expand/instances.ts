import { digest } from '../../canonical.ts'
import type { Json, JsonObject } from '../../json.ts'
import type { CompiledTask } from '../compile/work.ts'
import { resolveValue } from '../template/resolve.ts'
import type { Scope } from '../template/scope.ts'
import type { Path } from '../yaml/tree.ts'
import { combinations } from './bindings.ts'

/** What one of a task's children is bound to. */
export type Instance = JsonObject

/** Tells a fault at a place of the task. */
export type Refuse = (path: Path, message: string, help: string) => void

/**
 * What foreach or matrix of a task makes of it, each with its bindings; null where that is not known, which is told.
 * `scope` holds what is known before the run exists.
 */
export function instancesOf({ task, path }: CompiledTask, scope: Scope, refuse: Refuse): Instance[] | null {
  const { foreach, matrix } = task
  if (foreach !== undefined) {
    const items = listOf(foreach.items, [...path, 'foreach', 'items'], scope, refuse)
    if (items === null || exceeds(items.length, foreach.maxItems, [...path, 'foreach'], refuse)) return null
    return items.map((item, foreachIndex) => ({ [foreach.as]: item, foreachIndex }))
  }
  if (matrix === undefined) return null
  const axes: [string, Json[]][] = []
  let count = 1
  for (const axis of Object.keys(matrix.axes).sort()) {
    const place = [...path, 'matrix', 'axes', axis]
    const values = listOf(matrix.axes[axis] ?? [], place, scope, refuse)
    if (values === null) return null
    if (values.length === 0) {
      refuse(place, `axis \`${axis}\` has no values, so the matrix has no item`, 'give it at least one value')
      return null
    }
    axes.push([axis, values])
    // Before the combinations are made: ten axes of ten values would not fit into memory.
    count *= values.length
    if (exceeds(count, matrix.maxItems, [...path, 'matrix'], refuse)) return null
  }
  return combinations(axes).map((row, matrixIndex) => ({ matrix: row, matrixIndex }))
}

/** `PARENT--NNNN-DIGEST`: the index, and the first 12 hex of SHA-256 over the canonical binding (01, Compilation). */
export function childId(parent: string, index: number, binding: JsonObject): string {
  return `${parent}--${String(index).padStart(4, '0')}-${digest(binding).slice(0, 12)}`
}

function listOf(written: Json[] | string, path: Path, scope: Scope, refuse: Refuse): Json[] | null {
  const resolved = resolveValue(written, scope)
  if (!resolved.ok) {
    refuse(
      path,
      `${resolved.message}: what is expanded must be known before the run exists`,
      'read inputs and vars only',
    )
    return null
  }
  if (Array.isArray(resolved.value)) return resolved.value
  refuse(path, `\`${String(written)}\` does not give a list`, 'expand a list')
  return null
}

function exceeds(count: number, maxItems: number, path: Path, refuse: Refuse): boolean {
  if (count <= maxItems) return false
  const help = maxItems < 256 ? 'raise maxItems (at most 256), or expand fewer' : 'expand fewer'
  refuse(path, `${count} items are more than maxItems (${maxItems})`, help)
  return true
}
