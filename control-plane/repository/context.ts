import type { LedgerStore } from '../../ledger/index.ts'
import type { Clock, Ids } from '../../policy/ports.ts'
import type { Config } from '../config.ts'
import type { Log } from '../dependencies.ts'
import type { RepositoryName } from '../directory/directory.ts'
import type { GitHubRepository } from '../github/index.ts'

/** What work on one repository has in hand: its ledger, its GitHub, its name. */
export interface RepositoryContext {
  store: LedgerStore
  github: GitHubRepository
  config: Config
  clock: Clock
  ids: Ids
  log: Log
  repository: RepositoryName
}
