import { DurableObject, type DurableObjectState } from 'cloudflare:workers'
import { durableObjectSql, systemClock, systemIds } from '../ledger/index.ts'
import type { RepositoryName } from './directory/directory.ts'
import { DirectoryTables } from './directory/tables.ts'
import { lineLog } from './log.ts'
import type { RepositoryHandle } from './repository/handle.ts'
import { type HandleMethod, invoke } from './repository/remote-handle.ts'
import { repositoryService } from './repository/service.ts'
import { configOf, directoryOf, type WorkerEnv } from './worker-env.ts'

const idKey = 'repository'

/** One repository: its ledger in the object's own SQLite storage, its one timer the object's alarm. */
export class RepositoryObject extends DurableObject<WorkerEnv> {
  #service: RepositoryHandle | null = null

  /** A method of the repository with this id, by its name. */
  call(id: number, method: HandleMethod, args: unknown[]): Promise<unknown> {
    return invoke(this.#serviceOf(id), method, args)
  }

  /** Does what is due. An alarm does not say whose it is, so its setter has written the id down. */
  async alarm(): Promise<void> {
    const id = await this.ctx.storage.get<number>(idKey)
    if (id !== undefined) await this.#serviceOf(id).tick()
  }

  #serviceOf(id: number): RepositoryHandle {
    const { storage } = this.ctx
    this.#service ??= repositoryService(id, {
      config: configOf(this.env),
      clock: systemClock,
      ids: systemIds,
      fetch: (input, init) => fetch(input, init),
      log: lineLog(systemClock, line => console.log(line)),
      directory: directoryOf(this.env),
      sql: () => durableObjectSql(storage),
      // Storage calls are ordered, and an answer leaves only after them: nobody has to wait here.
      schedule: due => {
        if (due === null) void storage.deleteAlarm()
        else void Promise.all([storage.put(idKey, id), storage.setAlarm(Date.parse(due))])
      },
      hold: () => () => undefined,
    })
    return this.#service
  }
}

/** The directory of all repositories of this Worker. */
export class DirectoryObject extends DurableObject<WorkerEnv> {
  readonly #tables: DirectoryTables

  constructor(ctx: DurableObjectState, env: WorkerEnv) {
    super(ctx, env)
    this.#tables = new DirectoryTables(durableObjectSql(ctx.storage))
  }

  remember(repository: RepositoryName): void {
    this.#tables.remember(repository)
  }

  find(owner: string, name: string): RepositoryName | null {
    return this.#tables.find(owner, name)
  }

  update(id: number, state: { openPauses: number; due: string | null }): void {
    this.#tables.update(id, state)
  }

  pending(after: number, limit: number): RepositoryName[] {
    return this.#tables.pending(after, limit)
  }

  due(now: string): number[] {
    return this.#tables.due(now)
  }
}
