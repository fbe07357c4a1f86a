import type { JsonObject } from '../../json.ts'
import type { WorkflowDocument } from '../document.ts'
import type { Reporter } from '../reporter.ts'
import { nearest } from '../schema/fields.ts'
import { cycles, type Graph, topologicalOrder } from './graph.ts'
import { resolveUses } from './names.ts'
import { mergeVars, type VarsFiles } from './vars.ts'
import type { CompiledTask, UsedAction } from './work.ts'

/** The declared tasks with what they use; reports ids that stand twice. */
export function collectTasks(
  document: WorkflowDocument,
  reporter: Reporter,
  contents: VarsFiles,
  overrides: JsonObject,
): { tasks: CompiledTask[]; indexOf: Map<string, number> } {
  const tasks: CompiledTask[] = []
  const indexOf = new Map<string, number>()
  const used = new Map<string, UsedAction>()
  for (const [index, task] of document.workflow.spec.tasks.entries()) {
    const first = indexOf.get(task.id)
    if (first === undefined) indexOf.set(task.id, index)
    else {
      reporter.report(['spec', 'tasks', index, 'id'], {
        code: 'duplicate_task',
        message: `task \`${task.id}\` is declared twice`,
        help: `the first is spec.tasks[${first}]; give one another id`,
      })
    }
    const faulty = document.lost.size > 0 && document.lost.has(`tasks.${index}`)
    let action = used.get(task.uses) ?? null
    if (action === null && !(faulty && task.uses === 'action:faulty')) {
      action = resolveUses({ document, reporter }, task, index)
      if (action !== null) used.set(task.uses, action)
    }
    const vars = ownVars(document, contents, overrides, task.varsFiles, task.vars)
    tasks.push({ index, task, vars, action, faulty })
  }
  return { tasks, indexOf }
}

const noVars: JsonObject = {}

function ownVars(
  document: WorkflowDocument,
  contents: VarsFiles,
  overrides: JsonObject,
  varsFiles: readonly string[] = [],
  inline: JsonObject = noVars,
): JsonObject {
  if (varsFiles.length === 0 && inline === noVars) return noVars
  const own = mergeVars(document.directory, contents, varsFiles, inline)
  for (const name of Object.keys(overrides)) delete own[name]
  return own
}

/** The graph of `needs`, its order, and reports of what is missing or circular. */
export function buildGraph(
  document: WorkflowDocument,
  reporter: Reporter,
  tasks: readonly CompiledTask[],
  indexOf: ReadonlyMap<string, number>,
): { graph: Graph; order: number[] } {
  const needs = tasks.map(({ task, index }) => {
    const list = new Set<number>()
    for (const [position, id] of (task.needs ?? []).entries()) {
      const need = indexOf.get(id)
      if (need !== undefined) list.add(need)
      else if (!document.lost.has('tasks')) {
        const close = nearest(id, indexOf.size > 1000 ? [] : [...indexOf.keys()])
        reporter.report(['spec', 'tasks', index, 'needs', position], {
          code: 'missing_reference',
          message: `task \`${task.id}\` needs \`${id}\`, which is not declared`,
          help: close === null ? 'name a task of spec.tasks' : `did you mean \`${close}\`?`,
        })
      }
    }
    return [...list]
  })
  const graph: Graph = { ids: tasks.map(({ task }) => task.id), needs }
  const order = topologicalOrder(graph)
  if (order.length < tasks.length) {
    for (const cycle of cycles(graph, order)) reportCycle(reporter, graph, cycle)
  }
  return { graph, order }
}

function reportCycle(reporter: Reporter, { ids }: Graph, cycle: readonly number[]): void {
  const first = Math.min(...cycle)
  const from = cycle.indexOf(first)
  const names = [...cycle.slice(from), ...cycle.slice(0, from), first].map(index => ids[index] ?? '')
  const shown = names.length > 12 ? [...names.slice(0, 10), '…', names.at(-1)] : names
  reporter.report(['spec', 'tasks', first, 'needs'], {
    code: 'dependency_cycle',
    message: `tasks need each other in a circle: ${shown.join(' -> ')}`,
    help: 'remove one of these needs',
  })
}
