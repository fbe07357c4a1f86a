import { LedgerStore, type Sql } from '../../ledger/index.ts'
import type { Clock, Ids } from '../../policy/ports.ts'
import type { Config } from '../config.ts'
import type { Log } from '../dependencies.ts'
import type { Directory, RepositoryName } from '../directory/directory.ts'
import { type GitHubRepository, githubFor } from '../github/index.ts'
import { LeaseMarks } from './marks.ts'
import { ProvedNames } from './names.ts'

/** What one repository needs of the entry that runs it. */
export interface RepositoryWorld {
  config: Config
  clock: Clock
  ids: Ids
  fetch: typeof fetch
  log: Log
  directory: Directory
  /** Its storage, opened when first needed. */
  sql(): Sql
  /** Replaces the one timer: `tick` is called at or soon after this ISO time; null = no timer. */
  schedule(due: string | null): void
  /** Keeps the storage open until the answer is called, for what outlives a call. */
  hold(): () => void
}

/** What is kept in one repository's storage. */
export interface Opened {
  store: LedgerStore
  names: ProvedNames
  marks: LeaseMarks
}

/** The lasting parts of one repository: ledger, names, GitHub client; and what the directory was last told. */
export class RepositoryState {
  readonly id: number
  readonly #world: RepositoryWorld
  #opened: Opened | null = null
  #github: GitHubRepository | null = null
  #told = ''

  constructor(id: number, world: RepositoryWorld) {
    this.id = id
    this.#world = world
  }

  /** Ledger, names and marks, opened when first needed. */
  get opened(): Opened {
    return this.#open()
  }

  get store(): LedgerStore {
    return this.#open().store
  }

  get names(): ProvedNames {
    return this.#open().names
  }

  /** GitHub under the repository's present name; the client, with its tokens and pace, is kept while the name is. */
  github(repository: RepositoryName): GitHubRepository {
    const kept = this.#github
    const isSame = kept?.repository.owner === repository.owner && kept.repository.name === repository.name
    if (kept !== null && isSame) return kept
    const { clock, config, fetch } = this.#world
    this.#github = githubFor(config, fetch, clock, repository)
    return this.#github
  }

  /** Keeps a name that a verified token or delivery proved. */
  async prove(repository: RepositoryName): Promise<void> {
    const isNew = this.names.prove(repository.owner, repository.name, this.#world.clock.now())
    if (isNew) await this.#world.directory.remember(repository)
  }

  async tellDirectory(due: string | null): Promise<void> {
    const openPauses = this.store.openPauses().length
    const said = `${openPauses} ${due}`
    if (said === this.#told) return
    await this.#world.directory.update(this.id, { openPauses, due })
    this.#told = said
  }

  #open(): Opened {
    if (this.#opened !== null) return this.#opened
    const { clock, ids } = this.#world
    const sql = this.#world.sql()
    const store = new LedgerStore(sql, { clock, ids, ledger: String(this.id) })
    this.#opened = { store, names: new ProvedNames(sql, this.id), marks: new LeaseMarks(sql) }
    return this.#opened
  }
}
