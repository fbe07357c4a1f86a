import type { Floor } from '../../decision/floor.ts'
import type { JsonObject } from '../../json.ts'
import type { JsonSchemas } from '../../json-schema/types.ts'
import type { WorkflowDocument } from '../document.ts'
import type { WithPacks } from '../packs/index.ts'
import type { Reporter } from '../reporter.ts'
import type { Action } from '../schema/action.ts'
import type { Task } from '../schema/task.ts'
import type { Path } from '../yaml/tree.ts'
import type { Closure, Graph } from './graph.ts'
import type { Kind } from './kinds.ts'

/** What the steps of one compilation share. */
export interface Work {
  /** With the definitions of its packs. */
  document: WorkflowDocument
  reporter: Reporter
  /** Where a path of the document really stands; file is null for the document itself. */
  placeOf: WithPacks['placeOf']
  floor: Floor | null
  /** null where the document needs none. */
  jsonSchemas: JsonSchemas | null
  /** Defaults under the given values. */
  inputs: JsonObject
  /** Workflow variables, overrides applied. */
  vars: JsonObject
  /** Names that `--vars-file` sets: they stand above every task's own. */
  overrides: JsonObject
  /** The document's own tasks. */
  main: TaskList
  /** The tasks of each sub-workflow by its name, used or not. */
  subworkflows: ReadonlyMap<string, TaskList>
}

/** One list of tasks, whose names mean each other: the document's, or that of a sub-workflow. */
export interface TaskList {
  /** Name of the sub-workflow, null for the document's own. */
  subworkflow: string | null
  tasks: CompiledTask[]
  /** Index of each task id; the first of duplicates. */
  indexOf: ReadonlyMap<string, number>
  graph: Graph
  /** Topological; without the tasks of a cycle. */
  order: readonly number[]
  closure: Closure
}

/** One declared task with what its names were found to mean. */
export interface CompiledTask {
  index: number
  /** Where it stands: `spec.tasks[INDEX]`, or below a sub-workflow. */
  path: Path
  task: Task
  /** Its own variables: files, then inline, without those that are overridden. */
  vars: JsonObject
  /** null where it uses no action, or one that is unknown or faulty. */
  action: UsedAction | null
  /** What undoes it; absent where it has none that is known. */
  compensation?: CompiledTask
  /** Whether part of it was left out as faulty: what follows from that is not reported again. */
  faulty: boolean
}

export interface UsedAction {
  name: string
  definition: Action
  kind: Kind
}

/** Every declared list of tasks. */
export function listsOf({ main, subworkflows }: Pick<Work, 'main' | 'subworkflows'>): TaskList[] {
  return [main, ...subworkflows.values()]
}

/** Every declared task. */
export function tasksOf(work: Pick<Work, 'main' | 'subworkflows'>): CompiledTask[] {
  return work.subworkflows.size === 0 ? work.main.tasks : listsOf(work).flatMap(({ tasks }) => tasks)
}
