import type { Placed } from '../expand/placed.ts'
import type { PlanAction, PlanCompensation, PlanTask } from '../plan.ts'
import { placesOfItems } from '../yaml/places.ts'
import type { Path } from '../yaml/tree.ts'
import { actionPlanner, inputOf } from './actions.ts'
import { boundedBy } from './floor-limits.ts'
import { type Graph, indexed } from './graph.ts'
import { memoryWritesOf } from './memory-writes.ts'
import type { CompiledTask, Work } from './work.ts'

/** The plan's tasks beside the declared ones that they come from, in plan order. */
export interface Planned {
  tasks: PlanTask[]
  /** For each of them. */
  from: Placed[]
  /** Of the tasks, by their place in the order; made when it is first asked for. */
  graph(): Graph
}

/** Fills in what a placed task does and within which limits. */
export function planTasks(work: Work, placed: readonly Placed[], defaultTimeoutSeconds: number): Planned {
  const planAction = actionPlanner(work)
  const timeoutOf = timeouts(work, defaultTimeoutSeconds)
  const sourceOf = sources(work)
  const tasks: PlanTask[] = []
  const from: Placed[] = []
  for (const one of placed) {
    const { compiled, control } = one
    const { task, action } = compiled
    if (control === undefined && action === null) continue
    const timeoutSeconds = control === undefined ? timeoutOf(compiled) : defaultTimeoutSeconds
    tasks.push({
      id: one.id,
      uses: task.uses,
      needs: one.needs,
      when: one.when,
      vars: one.vars,
      with: action === null || control !== undefined ? one.with : inputOf(compiled, action),
      retry: (control === undefined ? task.retry : undefined) ?? { maxAttempts: 1, backoffMs: 0 },
      timeoutSeconds,
      failure: one.failure,
      memoryWrites: control === undefined ? memoryWritesOf(one) : [],
      action: action === null || control !== undefined ? nothing(one) : planAction(compiled, action, timeoutSeconds),
      ...(hasOwnOutput(one) && task.outputSchema !== undefined && { outputSchema: task.outputSchema }),
      ...(control !== undefined && { control }),
      ...(one.bindings !== undefined && { bindings: one.bindings }),
      ...(one.iteration !== undefined && { iteration: one.iteration }),
      ...(one.scope !== undefined && { scope: one.scope }),
      ...(one.routes !== undefined && { routes: one.routes }),
      ...compensationOfPlaced(one, planAction, timeoutOf),
      source: sourceOf(compiled),
    })
    from.push(one)
  }
  let graph: Graph | null = null
  return {
    tasks,
    from,
    graph() {
      graph ??= indexed(tasks)
      return graph
    },
  }
}

/** What undoes a placed task, in the same place: its bindings, its loop, its sub-workflow. */
function compensationOfPlaced(
  { id, compiled, vars, control, bindings, iteration, scope }: Placed,
  planAction: ReturnType<typeof actionPlanner>,
  timeoutOf: (compiled: CompiledTask) => number,
): Pick<PlanTask, 'compensate'> {
  const { compensation } = compiled
  const { action = null } = compensation ?? {}
  if (compensation === undefined || action === null || control !== undefined) return {}
  const timeoutSeconds = timeoutOf(compensation)
  const { uses, retry = { maxAttempts: 1, backoffMs: 0 } } = compensation.task
  const compensate: PlanCompensation = {
    uses,
    when: null,
    vars,
    with: inputOf(compensation, action),
    retry,
    timeoutSeconds,
    failure: 'stop',
    memoryWrites: [],
    action: planAction(compensation, action, timeoutSeconds),
    ...(bindings !== undefined && { bindings }),
    ...(iteration !== undefined && { iteration }),
    ...(scope !== undefined && { scope }),
    compensates: { task: id, name: (scope?.prefix ?? '') + compiled.task.id },
  }
  return { compensate }
}

/** Aggregates and the inputs of a sub-workflow are not what the declared task gives. */
function hasOwnOutput({ control }: Placed): boolean {
  return control === undefined || control.kind === 'outputs' || control.kind === 'router'
}

/** What stands for the action of a task that has no effect. */
function nothing({ control, compiled }: Placed): PlanAction {
  const { matrix } = compiled.task
  const names = { router: 'router', items: matrix === undefined ? 'foreach' : 'matrix', iterations: 'loop' }
  const kind =
    control === undefined || control.kind === 'inputs' || control.kind === 'outputs'
      ? `workflow.${control?.kind ?? 'outputs'}`
      : names[control.kind]
  return {
    name: '',
    kind,
    tool: kind,
    capabilities: [],
    effectClass: 'pure',
    risk: 'low',
    idempotency: 'pure',
    isolation: 'process',
    process: null,
  }
}

/** The time limit of each declared task, made once, whatever the task expands to. */
function timeouts(work: Work, defaultTimeoutSeconds: number): (compiled: CompiledTask) => number {
  const known = new Map<CompiledTask, number>()
  return compiled => {
    const before = known.get(compiled)
    if (before !== undefined) return before
    const { task, action } = compiled
    const written = task.timeoutSeconds ?? action?.definition.timeoutSeconds
    const seconds = boundedBy(work.floor, 'timeoutSeconds', written, defaultTimeoutSeconds)
    known.set(compiled, seconds)
    return seconds
  }
}

function sources(work: Work): (compiled: CompiledTask) => PlanTask['source'] {
  const known = new Map<string, PlanTask['source'][]>()
  const placesOf = (list: Path): PlanTask['source'][] => {
    const { tree, path, file } = work.placeOf(list)
    const places = placesOfItems(tree, path)
    return file === null ? places : places.map(place => ({ ...place, file }))
  }
  return ({ path, index }) => {
    const list = path.slice(0, -1)
    const key = list.length === 2 ? '' : String(list[2])
    let places = known.get(key)
    if (places === undefined) {
      places = placesOf(list)
      known.set(key, places)
    }
    return places[index] ?? { line: 1, column: 1 }
  }
}
