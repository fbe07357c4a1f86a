import type { Context } from '../context.ts'
import { Cells } from '../sql/cells.ts'

/**
 * Milliseconds that holders of a run's lease before the present one worked on it: from each beginning to the pause, end or
 * release that closed it, or to its last event where it was cut off. What a person took to decide is not in it.
 */
export function readActive(context: Context, run: string): number {
  const rows = context.sql.all(
    `SELECT type, at, (SELECT before.at FROM events before WHERE before.chain = e.chain AND before.seq = e.seq - 1)
     FROM events e WHERE chain = ? AND type IN ('run.created', 'lease.acquired', 'lease.released', 'run.paused', 'run.finished')
     ORDER BY seq`,
    `run/${run}`,
  )
  let total = 0
  let since: number | null = null
  for (const row of rows) {
    const cells = new Cells(row)
    const type = cells.text()
    const at = Date.parse(cells.text())
    const before = cells.textOrNull()
    const begins = type === 'run.created' || type === 'lease.acquired'
    if (since !== null) total += Math.max(0, (begins && before !== null ? Date.parse(before) : at) - since)
    since = begins ? at : null
  }
  return total
}
