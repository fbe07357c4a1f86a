import type { PlanAction } from '../../policy/document/plan.ts'
import { shownIsolation } from '../../policy/effect.ts'
import type { Json } from '../../policy/json.ts'
import { predictRun, type TaskPrediction } from '../../runner/index.ts'
import type { Handler } from '../command.ts'
import { planOf } from '../document.ts'
import { CliError, exits } from '../failure.ts'
import { readHostFloor } from '../host-floor.ts'
import { documentOptionsSchema } from '../options.ts'
import type { Line } from '../output/text.ts'
import { hostPorts } from '../ports.ts'

/** `explain FILE TASK`: what would be decided about a task's effect on this host, and by which rules. */
export const explain: Handler = async (context, [file = '', id = ''], options) => {
  const floor = readHostFloor()
  const { loaded, plan, findings } = await planOf(context, file, documentOptionsSchema.parse(options), floor)
  if (plan.tasks[id] === undefined)
    throw new CliError('task_not_found', `${file} has no task ${id}`, {
      help: `its tasks: ${plan.order.join(', ')}`,
      file,
    })
  const documents = [loaded.absolute, ...loaded.sources]
  const { tasks } = await predictRun(hostPorts(context, { workspace: loaded.workspace, documents, floor }), plan)
  const prediction = tasks.find(({ task }) => task === id)
  if (prediction === undefined) throw new Error(`no prediction of task ${id}`)
  const { task, kind, outcome, reason, decision } = prediction
  return {
    kind: 'Explanation',
    exitCode: exits.done,
    data: { task, kind, outcome, reason, decision: decision as unknown as Json },
    findings,
    lines: [...explanation(prediction), ...isolationLines(plan.tasks[id]?.action)],
  }
}

function isolationLines(action: PlanAction | undefined): Line[] {
  return action === undefined || action.process === null ? [] : [`  isolation  ${shownIsolation(action.isolation)}`]
}

function explanation({ task, kind, outcome, reason, decision }: TaskPrediction): Line[] {
  const head: Line = [['bold', task], ` ${kind}: ${outcome}${reason === '' ? '' : `: ${reason}`}`]
  if (decision === null) return [head, '  nothing would be requested, so nothing is decided']
  return [
    head,
    ...decision.steps.map((step): Line => {
      const style = step.outcome === 'allow' ? 'green' : step.outcome === 'ask' ? 'yellow' : 'red'
      const remedy = step.remedy === '' ? '' : `; ${step.remedy}`
      return [
        `  ${step.step.padEnd(10)} `,
        [style, step.outcome.padEnd(5)],
        ` ${step.rule} (${step.origin}): ${step.subject}${remedy}`,
      ]
    }),
  ]
}
