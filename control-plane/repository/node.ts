import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type NodeSql, openNodeSql } from '../../ledger/index.ts'
import type { Repositories } from '../dependencies.ts'
import type { RepositoryHandle } from './handle.ts'
import { handleOver, invoke } from './remote-handle.ts'
import { repositoryService } from './service.ts'
import type { RepositoryWorld } from './state.ts'

interface Open {
  service: RepositoryHandle
  sql: NodeSql | null
  /** Calls and streams that need it open. */
  held: number
}

export interface NodeRepositoriesOptions extends Omit<RepositoryWorld, 'sql' | 'schedule' | 'hold'> {
  /** Directory of the ledgers, one `<repository id>.sqlite` each. */
  data: string
  /** Ledgers open at a time; the one least recently used is closed for another. */
  atMost?: number
}

// A timer of Node holds at most 2^31 - 1 ms; a longer wait is waited in pieces.
const longestTimerMs = 2_000_000_000
const retryAfterFaultMs = 30_000

/** Repositories of this process: one SQLite file each, at most 64 open, and one timer each. */
export class NodeRepositories implements Repositories {
  readonly #options: NodeRepositoriesOptions
  readonly #atMost: number
  /** In order of use, the least recent first. */
  readonly #open = new Map<number, Open>()
  readonly #timers = new Map<number, NodeJS.Timeout>()
  readonly #waiting: (() => void)[] = []
  readonly #running = new Set<Promise<unknown>>()
  #closed = false

  constructor(options: NodeRepositoriesOptions) {
    this.#options = options
    this.#atMost = options.atMost ?? 64
  }

  get(id: number): RepositoryHandle {
    return handleOver((method, args) => this.#use(id, service => invoke(service, method, args)))
  }

  /** Calls `tick` of a repository at an ISO time, at once where it has passed; null takes its timer away. */
  schedule(id: number, due: string | null): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    if (due === null || this.#closed) return
    const wait = Date.parse(due) - this.#options.clock.now().getTime()
    const isLong = wait > longestTimerMs
    const timer = setTimeout(
      () => {
        this.#timers.delete(id)
        if (isLong) this.schedule(id, due)
        else this.#run(() => this.#tick(id))
      },
      Math.min(Math.max(wait, 0), longestTimerMs),
    )
    this.#timers.set(id, timer)
  }

  /** Looks through every ledger for work that is due, one after the other: after a start, whatever the last process knew. */
  lookThroughAll(): void {
    const files = readdirSync(this.#options.data).flatMap(name => /^(\d+)\.sqlite$/.exec(name)?.[1] ?? [])
    this.#run(async () => {
      for (const id of files) {
        if (this.#closed) return
        await this.#tick(Number(id))
      }
    })
  }

  /** Ends the timers, waits for what runs, closes every ledger. */
  async close(): Promise<void> {
    this.#closed = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    await Promise.allSettled(this.#running)
    for (const { sql } of this.#open.values()) sql?.close()
    this.#open.clear()
  }

  async #tick(id: number): Promise<void> {
    try {
      await this.get(id).tick()
    } catch (error) {
      const message = error instanceof Error ? error.message : 'unknown'
      this.#options.log.error('tick.failed', { repository: id, message })
      this.schedule(id, new Date(this.#options.clock.now().getTime() + retryAfterFaultMs).toISOString())
    }
  }

  /** Work that nobody waits for but `close`. */
  #run(work: () => Promise<void>): void {
    const running = work()
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  async #use<T>(id: number, call: (service: RepositoryHandle) => Promise<T>): Promise<T> {
    const open = await this.#enter(id)
    try {
      return await call(open.service)
    } finally {
      this.#release(open)
    }
  }

  /** The repository, held in the same step in which it is found, so that nobody closes it in between. */
  async #enter(id: number): Promise<Open> {
    for (;;) {
      const known = this.#open.get(id)
      if (known !== undefined) {
        this.#open.delete(id)
        this.#open.set(id, known)
        known.held += 1
        return known
      }
      if (this.#open.size < this.#atMost || this.#closeIdle()) break
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.push(resolve)
      await promise
    }
    const open = this.#create(id)
    open.held += 1
    this.#open.set(id, open)
    return open
  }

  #create(id: number): Open {
    const { atMost: _, data, ...world } = this.#options
    const open: Open = {
      service: repositoryService(id, { ...world, ...this.#entry(id, data, () => open) }),
      sql: null,
      held: 0,
    }
    return open
  }

  #entry(id: number, data: string, of: () => Open): Pick<RepositoryWorld, 'sql' | 'schedule' | 'hold'> {
    return {
      sql: () => {
        const open = of()
        open.sql ??= openNodeSql(join(data, `${id}.sqlite`))
        return open.sql
      },
      schedule: due => this.schedule(id, due),
      hold: () => {
        const open = of()
        open.held += 1
        let isHeld = true
        return () => {
          if (isHeld) this.#release(open)
          isHeld = false
        }
      },
    }
  }

  #release(open: Open): void {
    open.held -= 1
    if (open.held === 0) this.#waiting.shift()?.()
  }

  /** Closes the ledger least recently used that nobody needs now; false where all are needed. */
  #closeIdle(): boolean {
    for (const [id, open] of this.#open) {
      if (open.held > 0) continue
      open.sql?.close()
      this.#open.delete(id)
      return true
    }
    return false
  }
}
