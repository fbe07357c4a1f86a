import type { Plan } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import { predictRun, type TaskPrediction } from '../runner/index.ts'
import { effectLines } from './approval-lines.ts'
import type { CommandResult, Finding } from './command.ts'
import { exits, finding } from './failure.ts'
import type { Line, Style } from './output/text.ts'
import type { HostPorts } from './ports.ts'

const styles: { readonly [Outcome in TaskPrediction['outcome']]: Style } = {
  run: 'green',
  unchanged: 'dim',
  ask: 'yellow',
  denied: 'red',
  failed: 'red',
  skipped: 'dim',
  unknown: 'cyan',
}

/** `run --check`: what each task would come to. Exits as the run would where it is known to stop: 3 denied, 4 failed. */
export async function predict(
  host: HostPorts,
  plan: Plan,
  { file, findings, diff }: { file: string; findings: readonly Finding[]; diff: boolean },
): Promise<CommandResult> {
  const { tasks, refused, asks } = await predictRun(host, plan)
  const stopped = tasks.filter(({ outcome }) => outcome === 'denied' || outcome === 'failed')
  const exitCode = !refused
    ? exits.done
    : stopped.some(({ outcome }) => outcome === 'failed')
      ? exits.failed
      : exits.denied
  return {
    kind: 'Prediction',
    exitCode,
    data: { tasks: tasks as unknown as Json, refused, asks },
    findings: [
      ...findings,
      ...stopped.map(({ task, outcome, reason }) =>
        finding(outcome === 'denied' ? 'policy_denied' : 'run_failed', `task ${task} would be ${outcome}: ${reason}`, {
          file,
          ...plan.tasks[task]?.source,
        }),
      ),
    ],
    lines: tasks.flatMap(task => predictionLines(task, diff)),
  }
}

const known: { readonly [Predictability in TaskPrediction['predictability']]: string } = {
  full: 'fully predictable',
  partial: 'partially predictable',
  none: 'not predictable',
}

function predictionLines(
  { task, kind, outcome, reason, expected, predictability }: TaskPrediction,
  diff: boolean,
): Line[] {
  const why = reason === '' ? '' : `: ${reason}`
  const head: Line = [
    ['bold', task],
    ` ${kind} `,
    [styles[outcome], outcome],
    ['dim', ` (${known[predictability]})`],
    why,
  ]
  return diff && expected !== null ? [head, ...effectLines(expected)] : [head]
}
