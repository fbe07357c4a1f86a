import { canonical } from '../../policy/canonical.ts'
import { badEnd, type CollectedItem, collectedOutput } from '../../policy/document/collected.ts'
import { evaluateCondition, resolveValue, scopeOfTask } from '../../policy/document/index.ts'
import { describeErrors } from '../../policy/document/output-fault.ts'
import type { PlanControl, PlanTask } from '../../policy/document/plan.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { loadJsonSchemas } from '../../policy/json-schema/load.ts'
import type { Move } from '../moves.ts'
import { conditionOf, type Proposer, type View } from '../proposal.ts'
import { collectFrom } from './collect.ts'

type ControlOf<Kind extends PlanControl['kind']> = Extract<PlanControl, { kind: Kind }>
type Controller = Pick<Proposer, 'plan' | 'state'>

/**
 * What a task without an effect of its own comes to, once all before it is over. It is computed from what is recorded
 * and nothing else, so a resumed run comes to the same.
 */
export async function controlMove(context: Controller, task: PlanTask, view: View): Promise<Move> {
  const condition = conditionOf(context, task, view)
  if (condition?.kind === 'failed') return failed(condition.code, condition.message)
  const record = condition?.record ?? null
  if (condition !== null && !condition.result)
    return {
      to: 'skipped',
      output: { reason: 'the condition is false', condition: condition.record },
      condition: record,
    }
  return { ...(await computed(context, task, view)), condition: record }
}

async function computed(context: Controller, task: PlanTask, view: View): Promise<Move> {
  const { control } = task
  switch (control?.kind) {
    case 'router':
      return route(context, task, control, view)
    case 'items':
      return items(control, collectFrom(context.state, control.members))
    case 'iterations':
      return iterations(context, task, control, view)
    case 'inputs':
      return boundary(context, task, control, view)
    case 'outputs':
      return outputs(context, task, control, view)
    case undefined:
      throw new Error(`task ${task.id} is not computed: it has an effect`)
  }
}

/** The first case that equals what is selected, by type and value. */
function route(context: Controller, task: PlanTask, control: ControlOf<'router'>, view: View): Move {
  const scoped = scopeOfTask(context.plan, task, view)
  if (!scoped.ok) return failed('invalid_template', `vars: ${scoped.message}`)
  const selected = resolveValue(control.select, scoped.scope)
  if (!selected.ok) return failed('invalid_template', `select: ${selected.message}`)
  const wanted = canonical(selected.value)
  const matched = control.cases.find(({ equals }) => canonical(equals) === wanted)
  const destinations = matched?.tasks ?? control.default
  return { to: 'succeeded', output: { selected: selected.value, matched: matched !== undefined, destinations } }
}

/** Skipped only where there was something and all of it was. */
function items(control: ControlOf<'items'>, collected: CollectedItem[]): Move {
  const output = collectedOutput(control, collected)
  const bad = badEnd(collected)
  if (bad !== null) return { ...bad, output }
  if (collected.length > 0 && collected.every(({ state }) => state === 'skipped'))
    return { to: 'skipped', output: { reason: 'every item was skipped', ...output } }
  return { to: 'succeeded', output }
}

/** A guard that still holds after the last iteration fails: the work is not done, and nothing says that it ever will be. */
function iterations(context: Controller, task: PlanTask, control: ControlOf<'iterations'>, view: View): Move {
  const collected = collectFrom(context.state, control.members)
  const ran = collected.filter(({ state }) => state === 'succeeded').length
  const output = collectedOutput(control, collected)
  const bad = badEnd(collected)
  if (bad !== null) return { ...bad, output }
  if (ran < collected.length) return { to: 'succeeded', output }
  const scoped = scopeOfTask(context.plan, task, view)
  const decided = scoped.ok ? evaluateCondition(control.while, scoped.scope) : scoped
  if (!decided.ok) return { ...failed('invalid_template', `while: ${decided.message}`), output }
  if (!decided.result) return { to: 'succeeded', output }
  const message = `the guard \`${decided.expression}\` still holds after ${ran} iterations; raise maxIterations, or let the guard become false`
  return { ...failed('loop_exhausted', message), output }
}

function outputs(context: Controller, task: PlanTask, control: ControlOf<'outputs'>, view: View): Promise<Move> | Move {
  const { state } = context
  const { entry, members } = control
  if (state.status(entry).state === 'skipped') return { to: 'skipped', output: state.outputs[entry]?.output ?? null }
  const bad = badEnd(collectFrom(state, [entry, ...members]))
  return bad ?? boundary(context, task, control, view)
}

/** What passes into a sub-workflow or out of it: the task's `with`, as the schema of that side wants it. */
async function boundary(
  context: Controller,
  task: PlanTask,
  control: ControlOf<'inputs' | 'outputs'>,
  view: View,
): Promise<Move> {
  const scoped = scopeOfTask(context.plan, task, view)
  if (!scoped.ok) return failed('invalid_template', `vars: ${scoped.message}`)
  const resolved = resolveValue(task.with, scoped.scope)
  if (!resolved.ok) return failed('invalid_template', `${control.kind}: ${resolved.message}`)
  const wrong = await mismatch(control.schema, resolved.value)
  if (wrong === null) return { to: 'succeeded', output: resolved.value as JsonObject }
  const side = control.kind === 'inputs' ? 'inputSchema' : 'outputSchema'
  const code = control.kind === 'inputs' ? 'invalid_input' : 'output_schema'
  return failed(code, `${side} of sub-workflow ${control.subworkflow} ${control.version}: ${wrong}`)
}

async function mismatch(schema: Json, value: Json): Promise<string | null> {
  if (schema === true) return null
  const { validate } = await loadJsonSchemas()
  const checked = validate(schema, value)
  if (checked.ok) return null
  return describeErrors(checked.errors)
}

function failed(code: string, message: string): Move {
  return { to: 'failed', error: { code, message } }
}
