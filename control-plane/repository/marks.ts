import type { Sql } from '../../ledger/index.ts'

/**
 * What attaching keeps beside the ledger. How a run's chain stood when its lease was last given to an attempt. While it still stands so, that attempt has written
 * nothing: its answer may have been lost, and it may have the lease once more.
 */
export class LeaseMarks {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
    sql.run(
      'CREATE TABLE IF NOT EXISTS lease_marks (run TEXT PRIMARY KEY, epoch INTEGER NOT NULL, head TEXT NOT NULL) STRICT',
    )
    sql.run(
      'CREATE TABLE IF NOT EXISTS attach_askers (instance TEXT, workflow_run INTEGER, attempt INTEGER, asker TEXT NOT NULL, PRIMARY KEY (instance, workflow_run, attempt)) STRICT',
    )
  }

  /** The process that was the first to ask for an instance in a job attempt: the one that asks now where there was none. */
  firstAsker(instance: string, workflowRun: number, attempt: number, asker: string): string {
    const at = [instance, workflowRun, attempt] as const
    this.#sql.run('INSERT INTO attach_askers VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING', ...at, asker)
    const where = 'WHERE instance = ? AND workflow_run = ? AND attempt = ?'
    const [row] = this.#sql.all(`SELECT asker FROM attach_askers ${where}`, ...at)
    return String(row?.[0])
  }

  keep(run: string, epoch: number, head: string): void {
    this.#sql.run(
      'INSERT INTO lease_marks (run, epoch, head) VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch, head = excluded.head',
      run,
      epoch,
      head,
    )
  }

  /** Whether nothing was written since the lease of this epoch was given. */
  isUntouched(run: string, epoch: number, head: string): boolean {
    const [row] = this.#sql.all('SELECT 1 FROM lease_marks WHERE run = ? AND epoch = ? AND head = ?', run, epoch, head)
    return row !== undefined
  }
}
