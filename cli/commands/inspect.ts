import type { RunRecord, RunSnapshot } from '../../ledger/port.ts'
import type { Json } from '../../policy/json.ts'
import { approvalLines } from '../approval-lines.ts'
import type { Handler } from '../command.ts'
import { exits } from '../failure.ts'
import { recordOf, withLedger } from '../ledger.ts'
import { outputLines } from '../outcome.ts'
import type { Line } from '../output/text.ts'
import { effectWords } from './effects-read.ts'

/** `inspect RUN`: all that the ledger knows of a run. */
export const inspect: Handler = async (context, [run = '']) =>
  withLedger(context, ({ store }) => {
    recordOf(store, run)
    const snapshot = store.snapshot(run)
    if (snapshot === null) throw new Error(`run ${run} went away`)
    const { record, plan: _, ...rest } = snapshot
    return {
      kind: 'Run',
      exitCode: exits.done,
      data: { runId: run, state: record.state, run: record, ...rest } as unknown as Json,
      findings: [],
      lines: inspectLines(snapshot),
    }
  })

function hostFloorWords(floor: RunRecord['hostFloor']): string {
  if (floor === null) return 'not told'
  return floor.state === 'installed' ? floor.digest : floor.state
}

function inspectLines({ record, tasks, effects, pauses, outputs, head }: RunSnapshot): Line[] {
  const shown = outputLines(outputs)
  const approvals = pauses.flatMap(pause => pause.items)
  return [
    [['bold', record.workflowName], ` run ${record.run} `, ['bold', record.state]],
    `  document ${record.document} ${record.workflowDigest}`,
    `  plan     ${record.planDigest}`,
    `  floor    ${record.floorDigest ?? 'none'}, host floor ${hostFloorWords(record.hostFloor)}`,
    `  commit   ${record.commit.sha ?? record.commit.head ?? 'none'}`,
    `  created  ${record.createdAt}${record.endedAt === null ? '' : `, ended ${record.endedAt}`}`,
    `  head     ${head}`,
    '',
    'Tasks:',
    ...tasks.map(({ task, state, attempt, error }) => {
      const why = error === null ? '' : `: ${error.code}: ${error.message}`
      return `  ${task}  ${state}${attempt > 1 ? ` (attempt ${attempt})` : ''}${why}`
    }),
    ...(effects.length === 0 ? [] : ['', 'Effects:']),
    ...effects.map((one): Line => ['  ', ['cyan', one.effect], ` ${effectWords(one)}`]),
    ...(approvals.length === 0 ? [] : ['', 'Approvals:', ...approvals.flatMap(approvalLines)]),
    ...(shown.length === 0 ? [] : ['', 'Outputs:', ...shown]),
  ]
}
