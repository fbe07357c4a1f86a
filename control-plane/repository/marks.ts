import type { Sql } from '../../ledger/index.ts'

/**
 * How a run's chain stood when its lease was last given to an attempt. While it still stands so, that attempt has written
 * nothing: its answer may have been lost, and it may have the lease once more.
 */
export class LeaseMarks {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
    sql.run(
      'CREATE TABLE IF NOT EXISTS lease_marks (run TEXT PRIMARY KEY, epoch INTEGER NOT NULL, head TEXT NOT NULL) STRICT',
    )
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
