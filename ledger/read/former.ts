import type { RunState } from '../../policy/states.ts'
import type { Context } from '../context.ts'
import { Cells } from '../sql/cells.ts'
import { mayReopenRun } from '../transitions.ts'

/** The end from which a run was last opened for its compensations, as its trail tells; null where it never was. */
export function readFormer(context: Pick<Context, 'sql'>, run: string): Exclude<RunState, 'running' | 'paused'> | null {
  const rows = context.sql.all(
    "SELECT data FROM events WHERE chain = ? AND type = 'run.compensating' AND data IS NOT NULL ORDER BY seq DESC",
    `run/${run}`,
  )
  for (const row of rows) {
    const { from } = new Cells(row).json<{ from: RunState }>()
    // What a run began by itself was said while it was running.
    if (from !== 'running' && from !== 'paused' && mayReopenRun(from)) return from
  }
  return null
}
