import type { Placed } from '../expand/placed.ts'
import type { PlanTask } from '../plan.ts'
import { resolveValue } from '../template/resolve.ts'
import { holdsTemplate } from '../template/template.ts'
import { Closure } from './graph.ts'
import type { Planned } from './planned.ts'
import type { Work } from './work.ts'

/** Working-memory keys that a task may write: those it declares, and the key of its own write where that is known. */
export function memoryWritesOf({ compiled: { task, action }, known }: Placed): string[] {
  const isWrite = action?.definition.kind === 'builtin.memory.write'
  if (task.memoryWrites === undefined && !isWrite) return []
  const key = isWrite ? (task.with?.['key'] ?? action.definition.with?.['key']) : undefined
  const keys = [...(task.memoryWrites ?? []), ...(typeof key === 'string' ? [key] : [])]
  const values = keys.map(text => {
    if (!holdsTemplate(text)) return text
    const resolved = resolveValue(text, known())
    return resolved.ok && typeof resolved.value === 'string' ? resolved.value : null
  })
  return [...new Set(values.filter(value => value !== null))].sort()
}

/**
 * Tasks that may run in one batch commit their memory together, so two that write one key must be ordered by needs. With
 * maxConcurrency 1 nothing overlaps.
 */
export function checkMemoryWrites(work: Work, planned: Planned): void {
  if (work.document.workflow.spec.runtime.maxConcurrency === 1) return
  const writers = new Map<string, number[]>()
  for (const [index, task] of planned.tasks.entries()) {
    reportUnknownKey(work, planned, task, index)
    for (const key of task.memoryWrites) {
      const list = writers.get(key) ?? []
      if (list.push(index) === 1) writers.set(key, list)
    }
  }
  if (writers.size === 0) return
  const closure = new Closure(planned.graph())
  for (const [key, list] of writers) {
    const told = new Set<unknown>()
    // In topological order, neighbours that are ordered make the whole list a chain.
    for (const [position, index] of list.slice(1).entries()) {
      const before = list[position]
      const compiled = planned.from[index]?.compiled
      if (before === undefined || compiled === undefined || told.has(compiled) || closure.holds(index, before)) continue
      told.add(compiled)
      const ids = [planned.tasks[before]?.id, planned.tasks[index]?.id]
      work.reporter.report(compiled.path, {
        code: 'schema_violation',
        message: `tasks \`${ids[0]}\` and \`${ids[1]}\` both write memory \`${key}\` and may run at the same time`,
        help: `let one need the other, or set runtime.maxConcurrency to 1`,
      })
    }
  }
}

function reportUnknownKey(work: Work, { from }: Planned, task: PlanTask, index: number): void {
  if (task.action.kind !== 'builtin.memory.write' || task.memoryWrites.length > 0) return
  const key = task.with['key']
  const compiled = from[index]?.compiled
  if (typeof key !== 'string' || !holdsTemplate(key) || compiled === undefined) return
  work.reporter.report(compiled.path, {
    code: 'schema_violation',
    message: `task \`${task.id}\` writes a memory key that is not known before the run`,
    help: 'list the keys it may write in memoryWrites',
  })
}
