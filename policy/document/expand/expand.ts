import type { Json, JsonObject } from '../../json.ts'
import type { CompiledTask, TaskList, Work } from '../compile/work.ts'
import type { PlanIteration, PlanRoute, PlanScope } from '../plan.ts'
import { bounds } from '../schema/common.ts'
import { readsBinding } from './bindings.ts'
import { mayJudge } from './guard.ts'
import { childId, type Instance, instancesOf } from './instances.ts'
import { invokedBy } from './invocations.ts'
import { knownMembers, knownScope } from './known.ts'
import type { Placed } from './placed.ts'
import { routersOf } from './routes.ts'
import { Stage } from './stage.ts'

export interface Expansion {
  /** In plan order: topological, ties in the order of declaration. */
  placed: Placed[]
  /** Items that foreach and matrix made. */
  items: number
}

export interface ExpandOptions {
  /** Sub-workflows on a circle, which are left out. */
  circular: ReadonlySet<string>
  /** Tasks whose items are faulty in a way that was told already. */
  doubtful: ReadonlySet<CompiledTask>
  /** An input has no value yet, in a check without inputs: what cannot be expanded is warned of. */
  lenient: boolean
}

/**
 * Makes the tasks of the plan from the declared ones: children and aggregates of foreach and matrix, chains of loops,
 * routers, the tasks of sub-workflows between their boundaries (01, Compilation). Each declared task becomes one block in
 * its own place, so a topological order of blocks is one of tasks.
 */
export function expand(work: Work, options: ExpandOptions): Expansion {
  const walk = new Walk(work, options)
  walk.list(work.main, { prefix: '', inputs: work.inputs, entry: null, failure: null })
  return walk
}

/** Where a list of tasks stands in the plan. */
interface Frame {
  prefix: string
  /** Inputs that are known before the run exists. */
  inputs: JsonObject
  /** Task that gives the inputs of a sub-workflow, null for the document's own. */
  entry: string | null
  scope?: PlanScope
  /** `continue` of an invocation counts for all that it stands for. */
  failure: 'continue' | null
}

/** What one unit of a task (the task itself, or a child of it) has of its own. */
interface UnitPlace {
  id: string
  needs: string[]
  when: string | null
  bindings?: JsonObject
  iteration?: PlanIteration
  routes: PlanRoute[]
}

class Walk implements Expansion {
  items = 0
  readonly #work: Work
  readonly #options: ExpandOptions
  readonly #stage: Stage
  readonly #routers = new Map<TaskList, ReadonlyMap<number, CompiledTask[]>>()

  constructor(work: Work, options: ExpandOptions) {
    this.#work = work
    this.#options = options
    this.#stage = new Stage(work)
  }

  get placed(): Placed[] {
    return this.#stage.placed
  }

  list(list: TaskList, frame: Frame): void {
    for (const index of list.order) {
      const compiled = list.tasks[index]
      if (compiled !== undefined && !this.#stage.isFull) this.#task(list, compiled, frame)
    }
  }

  #task(list: TaskList, compiled: CompiledTask, frame: Frame): void {
    const { task, index } = compiled
    const id = frame.prefix + task.id
    const ids = (list.graph.needs[index] ?? []).map(need => frame.prefix + (list.graph.ids[need] ?? ''))
    const needs = ids.length === 0 && frame.entry !== null ? [frame.entry] : ids
    const routes = this.#routesOf(list, index, frame)
    const place: UnitPlace = { id, needs, when: task.when ?? null, routes }
    if (task.foreach !== undefined || task.matrix !== undefined) this.#items(compiled, frame, place)
    else if (task.loop !== undefined) this.#loop(compiled, frame, place, task.loop)
    else if (task.route !== undefined) {
      const { select, cases, default: otherwise } = task.route
      this.#emit(compiled, frame, place, { control: { kind: 'router', select, cases, default: otherwise } })
    } else this.#unit(compiled, frame, place)
  }

  #routesOf(list: TaskList, index: number, frame: Frame): PlanRoute[] {
    let routers = this.#routers.get(list)
    if (routers === undefined) {
      routers = routersOf(list)
      this.#routers.set(list, routers)
    }
    const destination = list.graph.ids[index] ?? ''
    return (routers.get(index) ?? []).map(({ task }) => ({ router: frame.prefix + task.id, destination }))
  }

  /** A task that uses an action, or the tasks of a sub-workflow in its place. */
  #unit(compiled: CompiledTask, frame: Frame, place: UnitPlace): void {
    const name = invokedBy(this.#work, compiled)
    if (name !== null) this.#invocation(compiled, frame, place, name)
    else if (compiled.action !== null) this.#emit(compiled, frame, place, {})
  }

  #items(compiled: CompiledTask, frame: Frame, place: UnitPlace): void {
    const instances = this.#instancesOf(compiled, frame) ?? []
    this.items += instances.length
    const members = instances.map((bindings, index) => childId(place.id, index, bindings))
    for (const [index, bindings] of instances.entries())
      this.#unit(compiled, frame, { ...place, id: members[index] ?? '', bindings })
    // Without an item nothing else would decide it.
    const when = members.length === 0 && !readsBinding(compiled.task) ? place.when : null
    const own = { ...place, needs: [...place.needs, ...members], when }
    this.#emit(compiled, frame, own, { control: { kind: 'items', members } })
  }

  #instancesOf(compiled: CompiledTask, frame: Frame): Instance[] | null {
    if (this.#options.doubtful.has(compiled)) return null
    const scope = knownScope(this.#work, frame.inputs, compiled)
    return instancesOf(compiled, scope, (path, message, help) => {
      const within = frame.entry === null ? '' : ` (in \`${frame.prefix.slice(0, -2)}\`)`
      this.#stage.refuse(path, message + within, help, this.#options.lenient ? 'warning' : 'error')
    })
  }

  #loop(compiled: CompiledTask, frame: Frame, place: UnitPlace, loop: NonNullable<CompiledTask['task']['loop']>): void {
    const { maxIterations, while: guard, initial = null } = loop
    const members: string[] = []
    for (let index = 0; index < maxIterations; index++) {
      const previous = members.at(-1) ?? null
      const id = childId(place.id, index, { loopIndex: index })
      const needs = previous === null ? place.needs : [...place.needs, previous]
      const when = previous === null && !mayJudge(guard, initial) ? null : guard
      this.#unit(compiled, frame, { ...place, id, needs, when, iteration: { index, previous, initial } })
      members.push(id)
    }
    const iteration = { index: maxIterations, previous: members.at(-1) ?? null, initial }
    const own = { ...place, needs: [...place.needs, ...members], iteration }
    this.#emit(compiled, frame, own, { control: { kind: 'iterations', members, while: guard } })
  }

  #invocation(compiled: CompiledTask, frame: Frame, place: UnitPlace, name: string): void {
    const list = this.#work.subworkflows.get(name)
    const definition = this.#work.document.workflow.spec.subworkflows[name]
    if (list === undefined || definition === undefined || this.#options.circular.has(name)) return
    const { version, inputs: defaults, inputSchema, outputs, outputSchema } = definition
    const entry = `${place.id}--_inputs`
    const given = { ...defaults, ...compiled.task.with }
    const control = { kind: 'inputs', subworkflow: name, version, schema: inputSchema } as const
    this.#emit(compiled, frame, { ...place, id: entry }, { control, with: given })
    // Refused as too long, as would be all below it: thousands of levels could be written.
    if (entry.length > bounds.nameCharacters) return

    const prefix = `${place.id}--`
    const known = knownMembers(given, knownScope(this.#work, frame.inputs, compiled, place.bindings))
    if (Object.keys(known).length === Object.keys(given).length) this.#checkInputs(compiled, name, inputSchema, known)
    const failure = compiled.task.failure === 'continue' ? 'continue' : frame.failure
    const inner: Frame = { prefix, inputs: known, entry, scope: { inputs: entry, prefix }, failure }
    this.list(list, inner)

    const members = list.graph.ids.map(id => prefix + id)
    this.#emit(
      compiled,
      inner,
      { id: place.id, needs: [entry, ...members], when: null, routes: place.routes },
      {
        control: { kind: 'outputs', entry, members, subworkflow: name, version, schema: outputSchema },
        with: outputs,
        vars: {},
      },
    )
  }

  /** Inputs that are known already are held against their schema now. */
  #checkInputs({ path, task }: CompiledTask, name: string, schema: Json, inputs: JsonObject): void {
    const { jsonSchemas } = this.#work
    // Of a faulty schema its own faults are told.
    if (jsonSchemas === null || jsonSchemas.checkSchema(schema).length > 0) return
    const checked = jsonSchemas.validate(schema, inputs)
    for (const fault of checked.ok ? [] : checked.errors) {
      const place = fault.path === '' ? 'the input' : `\`${fault.path}\` of the input`
      const message = `${place} of sub-workflow \`${name}\` ${fault.message}`
      this.#stage.refuse(
        [...path, ...(task.with === undefined ? [] : ['with'])],
        message,
        'change `with` to what inputSchema asks for',
      )
    }
  }

  #emit(
    compiled: CompiledTask,
    frame: Frame,
    place: UnitPlace,
    more: Partial<Pick<Placed, 'control' | 'with' | 'vars'>>,
  ): void {
    const { id, bindings, iteration, routes } = place
    const placed: Placed = {
      id,
      compiled,
      needs: place.needs,
      when: place.when,
      vars: compiled.vars,
      with: {},
      failure: frame.failure ?? compiled.task.failure,
      ...more,
      ...(bindings !== undefined && { bindings }),
      ...(iteration !== undefined && { iteration }),
      ...(frame.scope !== undefined && { scope: frame.scope }),
      ...(routes.length > 0 && { routes }),
      known: () => knownScope(this.#work, frame.inputs, compiled, bindings),
    }
    this.#stage.add(placed)
  }
}
