import { existsSync } from 'node:fs'
import { type EmbeddedLedger, type LedgerStore, openEmbedded } from '../ledger/index.ts'
import type { RunRecord } from '../ledger/port.ts'
import type { Context } from './command.ts'
import { CliError, exits } from './failure.ts'
import { ledgerFileOf } from './files.ts'

/** The local user as the ledger records them. */
export function localUser({ user }: Pick<Context, 'user'>): string {
  return `local:${user}`
}

/**
 * Does something with the ledger file, which is closed afterwards. Only a new run creates one: anything else in a file
 * that is not there is a slip in `--db`. What is overdue by the clock is recorded first. Throws CliError, LedgerError.
 */
export async function withLedger<Result>(
  context: Context,
  act: (ledger: EmbeddedLedger) => Promise<Result> | Result,
  { create = false } = {},
): Promise<Result> {
  const file = ledgerFileOf(context)
  if (!create && !existsSync(file))
    throw new CliError('ledger_not_found', `there is no ledger at ${context.options.db}`, {
      exitCode: exits.persistence,
      help: 'name the file that the run was started with: --db FILE',
      file: context.options.db,
    })
  const { clock, ids } = context
  const ledger = openEmbedded({ file, clock, ids, actor: localUser(context) })
  try {
    expireOverdue(context, ledger.store)
    return await act(ledger)
  } finally {
    await ledger.close()
  }
}

/** The record of a run. Throws CliError, exit 2, where there is none. */
export function recordOf(store: LedgerStore, run: string): RunRecord {
  const record = store.record(run)
  if (record !== null) return record
  throw new CliError('run_not_found', `there is no run ${run} in this ledger`, {
    help: 'check the id, and the ledger file: --db FILE',
  })
}

/** Refuses to stand in for a job or for the people of a repository. Throws CliError, exit 3. */
export function refuseForeign({ run, instance }: RunRecord, what: string): void {
  if (instance === null) return
  throw new CliError('not_local', `run ${run} belongs to a GitHub job: ${what}`, {
    exitCode: exits.denied,
    help: 'decide in its approval issue, or re-run the job',
  })
}

/** Nobody watches a ledger file between commands: what has expired meanwhile is recorded by the next one. */
function expireOverdue({ clock, ids }: Context, store: LedgerStore): void {
  const now = clock.now().toISOString()
  for (const { run, pause, expiresAt } of store.openPauses())
    if (expiresAt <= now) store.control({ run, commands: [{ id: ids.uuid(), type: 'pause.expire', pause }] }, 'system')
}
