import type { Row, Sql } from '../../ledger/index.ts'
import type { RepositoryName } from './directory.ts'

const tables = [
  `CREATE TABLE IF NOT EXISTS repository (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL,
    open_pauses INTEGER NOT NULL DEFAULT 0, due TEXT
  ) STRICT`,
  'CREATE TABLE IF NOT EXISTS name (full_name TEXT PRIMARY KEY, id INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS repository_due ON repository (due) WHERE due IS NOT NULL',
  'CREATE INDEX IF NOT EXISTS repository_pending ON repository (id) WHERE open_pauses > 0',
]

/** The directory over either SQL engine, synchronous; each entry wraps it as its asynchronous Directory. */
export class DirectoryTables {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
    for (const table of tables) sql.run(table)
  }

  remember({ id, owner, name }: RepositoryName): void {
    this.#sql.transaction(() => {
      this.#sql.run(
        `INSERT INTO repository (id, owner, name) VALUES (?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name`,
        id,
        owner,
        name,
      )
      this.#sql.run(
        'INSERT INTO name (full_name, id) VALUES (?, ?) ON CONFLICT (full_name) DO UPDATE SET id = excluded.id',
        fullName(owner, name),
        id,
      )
    })
  }

  find(owner: string, name: string): RepositoryName | null {
    const [row] = this.#sql.all(
      `SELECT repository.id, repository.owner, repository.name FROM name JOIN repository USING (id) WHERE full_name = ?`,
      fullName(owner, name),
    )
    return row === undefined ? null : named(row)
  }

  update(id: number, { openPauses, due }: { openPauses: number; due: string | null }): void {
    this.#sql.run('UPDATE repository SET open_pauses = ?, due = ? WHERE id = ?', openPauses, due, id)
  }

  pending(after: number, limit: number): RepositoryName[] {
    return this.#sql
      .all('SELECT id, owner, name FROM repository WHERE open_pauses > 0 AND id > ? ORDER BY id LIMIT ?', after, limit)
      .map(named)
  }

  due(now: string): number[] {
    return this.#sql.all('SELECT id FROM repository WHERE due <= ? ORDER BY due', now).map(([id]) => Number(id))
  }

  /** Every repository with work to come and when, for timers after a start. */
  scheduled(): { id: number; due: string }[] {
    return this.#sql
      .all('SELECT id, due FROM repository WHERE due IS NOT NULL ORDER BY due')
      .map(([id, due]) => ({ id: Number(id), due: String(due) }))
  }
}

const fullName = (owner: string, name: string): string => `${owner}/${name}`.toLowerCase()

const named = ([id, owner, name]: Row): RepositoryName => ({ id: Number(id), owner: String(owner), name: String(name) })
