import type { Sql } from '../../ledger/index.ts'
import type { RepositoryName } from '../directory/directory.ts'

/**
 * The names that verified tokens and deliveries have proved for one repository: it stays the same repository under a new
 * name, and only what was proved counts as its name.
 */
export class ProvedNames {
  readonly #sql: Sql
  readonly #id: number

  constructor(sql: Sql, id: number) {
    this.#sql = sql
    this.#id = id
    sql.run(
      'CREATE TABLE IF NOT EXISTS proved_names (owner TEXT NOT NULL, name TEXT NOT NULL, at TEXT NOT NULL, UNIQUE (owner, name)) STRICT',
    )
  }

  /** The name proved last, null where none ever was. */
  current(): RepositoryName | null {
    const [row] = this.#sql.all('SELECT owner, name FROM proved_names ORDER BY at DESC, rowid DESC LIMIT 1')
    return row === undefined ? null : { id: this.#id, owner: String(row[0]), name: String(row[1]) }
  }

  /** Keeps a proved name; false where it was the current one already. */
  prove(owner: string, name: string, at: Date): boolean {
    const current = this.current()
    if (current?.owner === owner && current.name === name) return false
    this.#sql.run(
      'INSERT INTO proved_names (owner, name, at) VALUES (?, ?, ?) ON CONFLICT (owner, name) DO UPDATE SET at = excluded.at',
      owner,
      name,
      at.toISOString(),
    )
    return true
  }

  /**
   * A workflow ref without the repository's own name, so that a rename does not make it another workflow; one of another
   * repository stays whole.
   */
  ownWorkflow(workflowRef: string): string {
    const all = this.#sql.all('SELECT owner, name FROM proved_names')
    const prefix = all
      .map(([owner, name]) => `${owner}/${name}/`)
      .find(own => workflowRef.toLowerCase().startsWith(own.toLowerCase()))
    return prefix === undefined ? workflowRef : workflowRef.slice(prefix.length)
  }
}
