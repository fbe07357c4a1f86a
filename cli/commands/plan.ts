import type { Plan, PlanTask } from '../../policy/document/plan.ts'
import { shownIsolation } from '../../policy/effect.ts'
import type { Json } from '../../policy/json.ts'
import type { Handler } from '../command.ts'
import { planOf } from '../document.ts'
import { exits } from '../failure.ts'
import { documentOptionsSchema } from '../options.ts'
import type { Line } from '../output/text.ts'

/** `plan FILE`: the compiled plan; the same bytes for the same document, files and inputs, on every machine. */
export const plan: Handler = async (context, [file = ''], options) => {
  const compiled = await planOf(context, file, documentOptionsSchema.parse(options))
  return {
    kind: 'Plan',
    exitCode: exits.done,
    data: { plan: compiled.plan as unknown as Json },
    findings: compiled.findings,
    lines: planLines(compiled.plan),
  }
}

function planLines(plan: Plan): Line[] {
  const { requirements, effectivePolicy } = plan
  return [
    [['bold', plan.workflowName], `  plan ${plan.planDigest}`],
    `  document ${plan.workflowDigest}`,
    '',
    ...plan.order.flatMap(id => taskLines(plan.tasks[id])),
    '',
    'Effects:',
    ...requirements.effects.map(
      ({ task, operation, effectClass, risk, approvalPossible, predictability }) =>
        `  ${task}  ${operation}  ${effectClass}, risk ${risk}${approvalPossible ? ', may need approval' : ''}, predictable: ${predictability}`,
    ),
    ...(plan.processes.length === 0 ? [] : ['', 'Processes:', ...plan.processes.flatMap(processLines)]),
    '',
    'Policy:',
    ...Object.entries(effectivePolicy).map(
      ([field, { value, origin }]): Line => [`  ${field}: ${JSON.stringify(value)} `, ['dim', `(${origin})`]],
    ),
    // Elsewhere a checked path could change before it is used.
    ...(process.platform === 'linux' ? [] : ['', 'paths: checked, not pinned']),
  ]
}

function taskLines(task: PlanTask | undefined): Line[] {
  if (task === undefined) return []
  const needs = task.needs.length === 0 ? '' : `  after ${task.needs.join(', ')}`
  const when = task.when === null ? '' : `  when ${task.when}`
  return [[['bold', `  ${task.id}`], `  ${task.action.kind}${needs}${when}`]]
}

function processLines(one: Plan['processes'][number]): Line[] {
  const { action, kind, tasks, isolation, command, args, container, limits } = one
  const argv = [command, ...args].map(word => JSON.stringify(word)).join(' ')
  return [
    `  ${action} (${kind}, ${shownIsolation(isolation)}) in ${tasks.join(', ')}: ${argv}`,
    ...(container === null ? [] : [`    image ${container.image}, engine ${container.runtime}`]),
    `    ${Object.entries(limits)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  ]
}
