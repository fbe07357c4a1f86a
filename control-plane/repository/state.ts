import { LedgerStore, type Sql } from '../../ledger/index.ts'
import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import type { Clock, Ids } from '../../policy/ports.ts'
import type { Config } from '../config.ts'
import type { Log } from '../dependencies.ts'
import type { Directory, RepositoryName } from '../directory/directory.ts'
import { type GitHubRepository, githubFor } from '../github/index.ts'
import { problem } from '../problem.ts'
import type { RepositoryContext } from './context.ts'
import type { ApprovalView } from './handle.ts'
import { renderPause } from './issue.ts'
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

/** The lasting parts of one repository: ledger, names, GitHub client; its timer; and what the directory was last told. */
export class RepositoryState {
  readonly id: number
  readonly world: RepositoryWorld
  #opened: Opened | null = null
  #github: GitHubRepository | null = null
  #told = ''

  constructor(id: number, world: RepositoryWorld) {
    this.id = id
    this.world = world
  }

  /** Ledger, names and marks, opened when first needed. */
  get opened(): Opened {
    if (this.#opened !== null) return this.#opened
    const { clock, ids } = this.world
    const sql = this.world.sql()
    const store = new LedgerStore(sql, { clock, ids, ledger: String(this.id) })
    this.#opened = { store, names: new ProvedNames(sql, this.id), marks: new LeaseMarks(sql) }
    return this.#opened
  }

  get store(): LedgerStore {
    return this.opened.store
  }

  get names(): ProvedNames {
    return this.opened.names
  }

  /** GitHub under the repository's present name; the client, with its tokens and pace, is kept while the name is. */
  github(repository: RepositoryName): GitHubRepository {
    const kept = this.#github
    const isSame = kept?.repository.owner === repository.owner && kept.repository.name === repository.name
    if (kept !== null && isSame) return kept
    const { clock, config, fetch } = this.world
    this.#github = githubFor(config, fetch, clock, repository)
    return this.#github
  }

  /** What work on the repository has in hand. Throws ProblemError 404 where no name was ever proved. */
  context(): RepositoryContext {
    const repository = this.names.current() ?? notFound('repository')
    const { clock, config, ids, log } = this.world
    return { store: this.store, github: this.github(repository), config, clock, ids, log, repository }
  }

  /** A run. Throws ProblemError 404. */
  record(run: string): RunRecord {
    return this.store.record(run) ?? notFound('run')
  }

  /** An approval as the API shows it. Throws ProblemError 404. */
  approval(id: string): ApprovalView {
    const approval = this.store.approval(id) ?? notFound('approval')
    const pause = this.store.pause(approval.pause)
    return { ...approval, bodyDigest: pause === null ? null : this.bodyDigest(pause) }
  }

  /** Its items as the API shows them. */
  itemsOf(pause: PauseRecord): ApprovalView[] {
    const bodyDigest = this.bodyDigest(pause)
    return pause.items.map(item => ({ ...item, bodyDigest }))
  }

  /** Digest of the body that a decision on this pause is made on; null once there is nothing to decide. */
  bodyDigest(pause: PauseRecord): string | null {
    if (pause.issue !== null) return pause.issue.bodyDigest
    return pause.state === 'open' ? renderPause(this.context(), this.record(pause.run), pause).bodyDigest : null
  }

  /** Keeps a name that a verified token or delivery proved. */
  async prove(repository: RepositoryName): Promise<void> {
    const isNew = this.names.prove(repository.owner, repository.name, this.world.clock.now())
    if (isNew) await this.world.directory.remember(repository)
  }

  /**
   * After whatever may have changed what is due: sets the timer to the least due time, `next` among them, and tells the
   * directory. The timer is set before anything is waited for, together with the change that it follows.
   */
  async changed(next: string | null = null): Promise<void> {
    const due = [next, this.store.nextDue()].filter(time => time !== null).sort()[0] ?? null
    this.world.schedule(due)
    const openPauses = this.store.openPauses().length
    const said = `${openPauses} ${due}`
    if (said === this.#told) return
    await this.world.directory.update(this.id, { openPauses, due })
    this.#told = said
  }
}

/** Throws the ProblemError 404 of something that is not in this repository. */
export function notFound(what: string): never {
  throw problem(404, 'not_found', `there is no such ${what} here`)
}
