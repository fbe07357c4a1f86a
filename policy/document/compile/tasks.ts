import type { JsonObject } from '../../json.ts'
import type { WorkflowDocument } from '../document.ts'
import type { Reporter } from '../reporter.ts'
import { nearest } from '../schema/fields.ts'
import type { Task } from '../schema/task.ts'
import type { Path } from '../yaml/tree.ts'
import { compensationTask } from './compensation.ts'
import { Closure, cycles, type Graph, topologicalOrder } from './graph.ts'
import { resolveUses } from './names.ts'
import { mergeVars, type VarsFiles } from './vars.ts'
import type { CompiledTask, TaskList, UsedAction } from './work.ts'

/** What the lists of one document are collected from. */
export interface Collecting {
  document: WorkflowDocument
  reporter: Reporter
  contents: VarsFiles
  overrides: JsonObject
}

/** The document's tasks and those of each sub-workflow, with their graphs; reports what their names get wrong. */
export function collectLists(from: Collecting): { main: TaskList; subworkflows: Map<string, TaskList> } {
  const { tasks, subworkflows } = from.document.workflow.spec
  const used = new Map<string, UsedAction>()
  const main = collectList(from, used, tasks, null)
  const lists = new Map<string, TaskList>()
  for (const [name, definition] of Object.entries(subworkflows))
    lists.set(name, collectList(from, used, definition.tasks, name))
  return { main, subworkflows: lists }
}

function collectList(
  from: Collecting,
  used: Map<string, UsedAction>,
  declared: readonly Task[],
  subworkflow: string | null,
): TaskList {
  const path = subworkflow === null ? ['spec', 'tasks'] : ['spec', 'subworkflows', subworkflow, 'tasks']
  const { tasks, indexOf } = collectTasks(from, used, declared, path)
  const { graph, order } = buildGraph(from, tasks, indexOf, subworkflow !== null)
  return { subworkflow, tasks, indexOf, graph, order, closure: new Closure(graph) }
}

/** The declared tasks with what they use; reports ids that stand twice. */
function collectTasks(
  { document, reporter, contents, overrides }: Collecting,
  used: Map<string, UsedAction>,
  declared: readonly Task[],
  path: Path,
): { tasks: CompiledTask[]; indexOf: Map<string, number> } {
  const tasks: CompiledTask[] = []
  const indexOf = new Map<string, number>()
  for (const [index, task] of declared.entries()) {
    const own = [...path, index]
    const first = indexOf.get(task.id)
    if (first === undefined) indexOf.set(task.id, index)
    else {
      reporter.report([...own, 'id'], {
        code: 'duplicate_task',
        message: `task \`${task.id}\` is declared twice`,
        help: `the first is ${path.join('.')}[${first}]; give one another id`,
      })
    }
    const faulty = document.lost.size > 0 && path.length === 2 && document.lost.has(`tasks.${index}`)
    const actionOf = ({ uses }: Pick<Task, 'uses'>, at: Path): UsedAction | null => {
      const known = used.get(uses) ?? null
      if (known !== null || (faulty && uses === 'action:faulty')) return known
      const found = resolveUses({ document, reporter }, { uses }, at)
      if (found !== null) used.set(uses, found)
      return found
    }
    const action = actionOf(task, own)
    const vars = ownVars(document, contents, overrides, task.varsFiles, task.vars)
    const compiled: CompiledTask = { index, path: own, task, vars, action, faulty }
    tasks.push(compiled)
    if (task.compensate === undefined || faulty) continue
    const at = [...own, 'compensate']
    const undoing = actionOf(task.compensate, at)
    const compensation = compensationTask(compiled, task.compensate, { path: at, action: undoing, reporter })
    if (compensation !== null) compiled.compensation = compensation
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
function buildGraph(
  { document, reporter }: Collecting,
  tasks: readonly CompiledTask[],
  indexOf: ReadonlyMap<string, number>,
  within: boolean,
): { graph: Graph; order: number[] } {
  const needs = tasks.map(({ task, path }) => {
    const list = new Set<number>()
    for (const [position, id] of (task.needs ?? []).entries()) {
      const need = indexOf.get(id)
      if (need !== undefined) list.add(need)
      else if (!document.lost.has('tasks')) {
        const close = nearest(id, indexOf.size > 1000 ? [] : [...indexOf.keys()])
        const place = within ? 'name a task of the same sub-workflow' : 'name a task of spec.tasks'
        reporter.report([...path, 'needs', position], {
          code: 'missing_reference',
          message: `task \`${task.id}\` needs \`${id}\`, which is not declared`,
          help: close === null ? place : `did you mean \`${close}\`?`,
        })
      }
    }
    return [...list]
  })
  const graph: Graph = { ids: tasks.map(({ task }) => task.id), needs }
  const order = topologicalOrder(graph)
  if (order.length < tasks.length) {
    for (const cycle of cycles(graph, order)) reportCycle(reporter, tasks, cycle)
  }
  return { graph, order }
}

function reportCycle(reporter: Reporter, tasks: readonly CompiledTask[], cycle: readonly number[]): void {
  const first = Math.min(...cycle)
  const from = cycle.indexOf(first)
  const names = [...cycle.slice(from), ...cycle.slice(0, from), first].map(index => tasks[index]?.task.id ?? '')
  const shown = names.length > 12 ? [...names.slice(0, 10), '…', names.at(-1)] : names
  reporter.report([...(tasks[first]?.path ?? []), 'needs'], {
    code: 'dependency_cycle',
    message: `tasks need each other in a circle: ${shown.join(' -> ')}`,
    help: 'remove one of these needs',
  })
}
