import { existsSync } from 'node:fs'
import { openEmbedded } from '../ledger/index.ts'
import { ledgerFile } from './ledger-file.ts'
import { type PostContext, type Settled, secretsOfRun } from './post-context.ts'
import { settleRun } from './settle-run.ts'

/** Settles a run in the job's own ledger file, which nothing can resume. Throws LedgerError. */
export async function settleLocal(context: PostContext, run: string): Promise<Settled> {
  const { clock, ids, job, guard, environment } = context
  const file = ledgerFile(job.temp)
  if (!existsSync(file))
    return { run, state: null, messages: [`the ledger ${file} is gone; nothing is known of the run`] }
  const ledger = openEmbedded({ file, clock, ids })
  try {
    const snapshot = await ledger.snapshot(run)
    if (snapshot === null) return { run, state: null, messages: ['nothing was recorded: no effect had begun'] }
    guard.learn(secretsOfRun(snapshot, environment))
    const { state } = snapshot.record
    if (state !== 'running') return { run, state, messages: [] }
    const epoch = await ledger.acquire(run)
    return { run, ...(await settleRun(ledger, ids, { snapshot, epoch }, 'end')) }
  } finally {
    await ledger.close()
  }
}
