/**
 * Names, open pauses and least due time per repository. Fed after the fact, never consulted for a decision: it finds a
 * repository by name, lists what may be pending for a person, and tells which ledgers have overdue work after a start.
 */
export interface Directory {
  /** Keeps a name that a verified token or webhook proved. The last proof of a name wins; old names of an id stay. */
  remember(repository: RepositoryName): Promise<void>
  /** The repository that last proved this name (any case), null where none did. */
  find(owner: string, name: string): Promise<RepositoryName | null>
  /** Keeps how many pauses a repository has open and when it next has work. */
  update(id: number, state: { openPauses: number; due: string | null }): Promise<void>
  /** Repositories with open pauses, by id, at most `limit` after `after`. */
  pending(after: number, limit: number): Promise<RepositoryName[]>
  /** Repositories whose work is due at or before `now`. */
  due(now: string): Promise<number[]>
}

/** A repository by its id, which never changes, and its present name. */
export interface RepositoryName {
  id: number
  owner: string
  name: string
}
