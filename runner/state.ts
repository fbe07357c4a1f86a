import type { EffectRecord } from '../ledger/port.ts'
import { endOfRun } from '../ledger/transitions.ts'
import type { Digest } from '../policy/canonical.ts'
import type { Plan, PlanTask } from '../policy/document/plan.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import type { RunState as EndState, TaskState } from '../policy/states.ts'

/** A task as this run knows it now. */
export interface TaskStatus {
  /** Changed through `RunState.set` only. */
  state: TaskState
  attempt: number
  error: { code: string; message: string } | null
  condition: JsonObject | null
  /** Waits for a person; looked at again once nothing else can run. */
  deferred: boolean
  /** performance.now() at its start, for its duration. */
  startedAt: number
}

type End = Exclude<EndState, 'running' | 'paused'>

/** How a run stands, in memory; the ledger has the truth, and this is rebuilt from it. */
export class RunState {
  /** Grows once, where compensations become tasks of the run; see `extend`. */
  plan: Plan
  readonly tasks = new Map<string, TaskStatus>()
  /** Outputs that templates may read: of tasks that succeeded or were skipped. */
  readonly outputs: { [id: string]: { output: Json } } = Object.create(null)
  /** Effects that an earlier attempt of the run has recorded. */
  readonly effects = new Map<Digest, EffectRecord>()
  /** Replaced, never changed: a batch keeps the one that it began with. */
  memory: JsonObject
  /** Not over yet, in plan order. */
  open: string[]
  artifactBytes = 0
  outputBytes = 0
  startedTasks = 0
  /** How the run had ended before it was opened to be undone, null where it was not. */
  former: End | null = null
  /** What earlier attempts worked on the run, without the time that it was paused. */
  earlierMilliseconds = 0
  #stopped = false
  #over = 0

  constructor(plan: Plan) {
    this.plan = plan
    this.memory = plan.memory
    this.open = []
    this.#add(plan.order)
  }

  #add(ids: readonly string[]): void {
    this.open.push(...ids)
    for (const id of ids)
      this.tasks.set(id, {
        state: 'pending',
        attempt: 1,
        error: null,
        condition: null,
        deferred: false,
        startedAt: 0,
      })
  }

  /** Whether what the run did is being undone. */
  get compensating(): boolean {
    const last = this.plan.order.at(-1)
    return last !== undefined && this.task(last).compensates !== undefined
  }

  /** Goes over to a plan with compensations behind its tasks: what stopped those stops no compensation. */
  extend(plan: Plan): void {
    this.plan = plan
    this.#stopped = false
    this.#add(plan.order.filter(id => !this.tasks.has(id)))
  }

  task(id: string): PlanTask {
    const task = this.plan.tasks[id]
    if (task === undefined) throw new Error(`the plan has no task ${id}`)
    return task
  }

  status(id: string): TaskStatus {
    const status = this.tasks.get(id)
    if (status === undefined) throw new Error(`the plan has no task ${id}`)
    return status
  }

  /** Takes tasks that are over out of `open`. */
  sweep(): void {
    this.open = this.open.filter(id => !isOver(this.status(id).state))
    this.#over = 0
  }

  /** The same once it is worth it; until then `open` holds tasks that are over. */
  sweepIfMany(): void {
    if (this.#over > Math.max(32, this.open.length / 4)) this.sweep()
  }

  /** How the run ends by its tasks; undoing what it did leaves its end, save where nobody knows what came of that. */
  end(): End {
    const tasks = [...this.tasks].map(([id, { state }]) => ({
      state,
      isCompensation: this.task(id).compensates !== undefined,
    }))
    return endOfRun(tasks, this.former)
  }

  /** Something ended that lets nothing else start: an uncertain effect, or a refusal or failure that stops the run. */
  mustStop(): boolean {
    return this.#stopped
  }

  /** Takes note of a task's new state. */
  set(id: string, state: TaskState): void {
    this.status(id).state = state
    if (isOver(state)) this.#over += 1
    // Compensations need one another: the first that does not succeed ends the chain.
    const stops = (state === 'failed' || state === 'denied') && !this.compensating && this.task(id).failure === 'stop'
    if (stops || state === 'uncertain') this.#stopped = true
  }
}

const over: ReadonlySet<TaskState> = new Set(['succeeded', 'failed', 'denied', 'skipped', 'uncertain', 'cancelled'])

/** Whether a task has ended. */
export function isOver(state: TaskState): boolean {
  return over.has(state)
}
