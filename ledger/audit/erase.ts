import type { Context } from '../context.ts'
import { LedgerError } from '../port.ts'
import { readRun } from '../read/runs.ts'
import { isEnded } from '../transitions.ts'
import { ChainEnd } from './append.ts'

/**
 * Drops what a run that is over held: data of its events, inputs, bindings, results, outputs, memory and its hold on
 * blobs. States, digests and the chain stay. Throws not_found, conflict.
 */
export function erase(context: Context, run: string, actor: string): void {
  const { sql } = context
  sql.transaction(() => {
    const record = readRun(context, run)
    if (record === null) throw new LedgerError('not_found', `There is no run ${run} in this ledger.`)
    if (!isEnded(record.state) || record.state === 'uncertain') {
      throw new LedgerError('conflict', `Run ${run} is ${record.state}; only a run that is over can be erased.`)
    }
    const end = new ChainEnd(context, `run/${run}`, actor, context.clock.now().toISOString())
    const through = end.seq
    const nothing = JSON.stringify({ inline: null })
    sql.run('UPDATE events SET salt = NULL, data = NULL WHERE chain = ? AND seq <= ?', `run/${run}`, through)
    sql.run(
      "UPDATE effects SET input = ?, result = NULL, binding = '{}', reconciliations = '[]', error = NULL WHERE run = ?",
      nothing,
      run,
    )
    sql.run('UPDATE items SET expected = ? WHERE run = ?', nothing, run)
    sql.run('UPDATE tasks SET output = NULL, error = NULL, condition = NULL WHERE run = ?', run)
    sql.run('UPDATE runs SET outputs = NULL, plan = ? WHERE run = ?', nothing, run)
    sql.run('DELETE FROM memory WHERE run = ?', run)
    sql.run('DELETE FROM blob_refs WHERE run = ?', run)
    end.append('data.erased', `run/${run}`, { through })
  })
}
