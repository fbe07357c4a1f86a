import { holdsTemplate } from '../template/template.ts'
import type { CompiledTask, Work } from './work.ts'

/** Working-memory keys that a task may write: those it declares, and the literal key of its own write. */
export function memoryWritesOf({ task, action }: CompiledTask): string[] {
  if (task.memoryWrites === undefined && action?.definition.kind !== 'builtin.memory.write') return []
  const key = literalKey(task.with?.['key'] ?? action?.definition.with?.['key'], action?.definition.kind)
  const keys = new Set(task.memoryWrites ?? [])
  if (key !== null) keys.add(key)
  return [...keys].sort()
}

/**
 * Tasks that may run in one batch commit their memory together, so two that write one key must be ordered by needs. With
 * maxConcurrency 1 nothing overlaps.
 */
export function checkMemoryWrites(work: Work): void {
  if (work.document.workflow.spec.runtime.maxConcurrency === 1) return
  const writers = new Map<string, CompiledTask[]>()
  for (const index of work.order) {
    const task = work.tasks[index]
    if (task === undefined) continue
    reportUnknownKey(work, task)
    for (const key of memoryWritesOf(task)) {
      const list = writers.get(key) ?? []
      if (list.push(task) === 1) writers.set(key, list)
    }
  }
  for (const [key, tasks] of writers) {
    // In topological order, neighbours that are ordered make the whole list a chain.
    for (const [position, task] of tasks.slice(1).entries()) {
      const before = tasks[position]
      if (before === undefined || work.closure.holds(task.index, before.index)) continue
      work.reporter.report(['spec', 'tasks', task.index], {
        code: 'schema_violation',
        message: `tasks \`${before.task.id}\` and \`${task.task.id}\` both write memory \`${key}\` and may run at the same time`,
        help: `let one need the other, or set runtime.maxConcurrency to 1`,
      })
    }
  }
}

function reportUnknownKey(work: Work, { task, action, index }: CompiledTask): void {
  if (action?.definition.kind !== 'builtin.memory.write' || (task.memoryWrites ?? []).length > 0) return
  const key = task.with?.['key'] ?? action.definition.with?.['key']
  if (typeof key !== 'string' || !holdsTemplate(key)) return
  work.reporter.report(['spec', 'tasks', index], {
    code: 'schema_violation',
    message: `task \`${task.id}\` writes a memory key that is not known before the run`,
    help: 'list the keys it may write in memoryWrites',
  })
}

function literalKey(key: unknown, kind: string | undefined): string | null {
  return kind === 'builtin.memory.write' && typeof key === 'string' && !holdsTemplate(key) ? key : null
}
