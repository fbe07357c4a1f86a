import { membersOf } from '../../policy/document/collected.ts'
import type { PlanTask } from '../../policy/document/plan.ts'
import type { Json } from '../../policy/json.ts'
import type { Predicted, TaskPrediction } from '../predict.ts'
import type { Proposer } from '../proposal.ts'
import type { RunState } from '../state.ts'
import { controlMove } from './control.ts'
import { unchosen } from './readiness.ts'

type Outcome = TaskPrediction['outcome']

/** What a router known already, or the task itself where it has no effect of its own, makes of it; else null. */
export async function predictControl(
  context: Proposer,
  task: PlanTask,
  outcomes: ReadonlyMap<string, Outcome>,
): Promise<Predicted | null> {
  const { state } = context
  const isRouted = (task.routes ?? []).every(({ router }) => state.outputs[router] !== undefined)
  const move = isRouted ? unchosen(state, task) : null
  if (move !== null) return skipped(move.output ?? null)
  return task.control === undefined ? null : predictMove(context, task, outcomes)
}

/** Computed where all that it is made from is known. */
async function predictMove(
  context: Proposer,
  task: PlanTask,
  outcomes: ReadonlyMap<string, Outcome>,
): Promise<Predicted> {
  const { state } = context
  const isBad = (id: string) => outcomes.get(id) === 'denied' || outcomes.get(id) === 'failed'
  const open = membersOf(task.control).find(id => state.outputs[id] === undefined && !isBad(id))
  if (open !== undefined) return only('unknown', `task ${open} must run first`)
  const view = { memory: state.memory, tasks: state.outputs }
  const { to, output = null, error = null } = await controlMove(context, task, view)
  if (error?.code === 'invalid_template' && waitsForOutput(context, task.id)) return only('unknown', error.message)
  if (to === 'succeeded') return { ...only('run', ''), output }
  if (to === 'skipped') return skipped(output)
  return only(to === 'denied' ? 'denied' : 'failed', error === null ? to : `${error.code}: ${error.message}`)
}

/** Whether a task's templates may fail only because an earlier task has not run. */
export function waitsForOutput({ plan, state }: Pick<Proposer, 'plan' | 'state'>, id: string): boolean {
  const seen = new Set<string>()
  const visit = (task: string): boolean =>
    (plan.tasks[task]?.needs ?? []).some(need => {
      if (seen.has(need)) return false
      seen.add(need)
      return state.outputs[need] === undefined || visit(need)
    })
  return visit(id)
}

/** What later predictions read of this one. */
export function remember(state: RunState, id: string, { outcome, output, reason }: Predicted): void {
  const isKnown = outcome === 'skipped' || outcome === 'unchanged'
  if (isKnown || (outcome === 'run' && state.task(id).control !== undefined)) state.outputs[id] = { output }
  if (outcome === 'skipped') state.set(id, 'skipped')
  if (outcome === 'run' || outcome === 'unchanged') state.set(id, 'succeeded')
  if (outcome !== 'failed' && outcome !== 'denied') return
  state.set(id, outcome)
  state.status(id).error = { code: outcome, message: reason }
}

function skipped(output: Json): Predicted {
  const reason = typeof output === 'object' && output !== null && !Array.isArray(output) ? output['reason'] : null
  return { ...only('skipped', typeof reason === 'string' ? reason : ''), output }
}

function only(outcome: Outcome, reason: string): Predicted {
  return { outcome, reason, expected: null, decision: null, output: null }
}
