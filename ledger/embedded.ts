import type { Clock, Ids } from '../policy/ports.ts'
import type { HostFloorRecord } from './commands.ts'
import type { Ledger } from './port.ts'
import { openNodeSql } from './sql/node.ts'
import { LedgerStore } from './store.ts'
import type { LeaseHolder } from './types.ts'

type LocalHolder = Extract<LeaseHolder, { kind: 'local' }>

/** The Ledger port over a ledger in this process, for the CLI and for an Action without a control plane. */
export interface EmbeddedLedger extends Ledger {
  store: LedgerStore
  actor: string
  /**
   * Takes the lease of a run and answers its epoch; nothing is taken where the run is over or waits for a person. Throws
   * lease_held naming the process that holds it. `hostFloor` is recorded with it.
   */
  acquire(run: string, hostFloor?: HostFloorRecord): Promise<number>
}

export interface EmbeddedOptions {
  holder: LeaseHolder
  /** Who is recorded: `local:<uid>`, or `job:<run id>/<attempt>` within a job. */
  actor: string
  /** Gives back what the store works on. */
  close?: () => void
}

/** Makes a store the runner's ledger. */
export function embeddedLedger(store: LedgerStore, options: EmbeddedOptions): EmbeddedLedger {
  return {
    store,
    actor: options.actor,
    async acquire(run, hostFloor) {
      const rules = { isAlive, ...(hostFloor !== undefined && { hostFloor }) }
      return store.acquire(run, options.holder, options.actor, rules).epoch
    },
    async apply(batch) {
      return store.apply(batch, options.actor, options.holder)
    },
    async snapshot(run) {
      return store.snapshot(run)
    },
    async putBlob(bytes) {
      return store.putBlob(bytes)
    },
    async getBlob(sha256) {
      return store.getBlob(sha256)
    },
    longTerm: {
      async read(namespace, key) {
        return store.longTerm(namespace, key)
      },
      async search(namespace, query, limit) {
        return store.searchLongTerm(namespace, query, limit)
      },
    },
    async close() {
      options.close?.()
    },
  }
}

/** Opens a ledger file for this process. Throws LedgerError locked, read_only, full, corrupt, newer. */
export function openEmbedded(options: { file: string; clock: Clock; ids: Ids; actor?: string }): EmbeddedLedger {
  const sql = openNodeSql(options.file)
  try {
    const store = new LedgerStore(sql, { clock: options.clock, ids: options.ids })
    const actor = options.actor ?? `local:${process.getuid?.() ?? 0}`
    return embeddedLedger(store, { holder: processHolder(), actor, close: () => sql.close() })
  } catch (error) {
    sql.close()
    throw error
  }
}

/** This process as a lease holder. A pid alone could be another process by now, or elsewhere; with the rest it cannot. */
export function processHolder(): LocalHolder {
  const pid = process.pid
  return { kind: 'local', bootId: bootId(), pid, startTime: startTime(pid) ?? '', pidNamespace: pidNamespace() }
}

/**
 * Whether the process that holds a lease still lives; null where that cannot be seen. In another pid namespace, as of another
 * container on this machine, its pid is nobody's or another's; and another boot may be one of another system that has the
 * same directory, as a virtual machine of this one.
 */
export function isAlive(holder: LocalHolder): boolean | null {
  if (holder.bootId !== bootId()) return null
  if (holder.pidNamespace !== undefined && holder.pidNamespace !== pidNamespace()) return null
  if (process.platform === 'linux') return startTime(holder.pid) === holder.startTime
  try {
    return process.kill(holder.pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function bootId(): string {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? process.getBuiltinModule('node:os').hostname()
}

/** The pid namespace of this process; null where there are none. */
function pidNamespace(): string | null {
  try {
    return process.getBuiltinModule('node:fs').readlinkSync('/proc/self/ns/pid')
  } catch {
    return null
  }
}

/** Start time of a process in clock ticks since boot, null where there is no such process (a zombie is none either). */
function startTime(pid: number): string | null {
  const stat = readProc(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The command name stands in parentheses and may hold spaces and parentheses itself: count from the last one.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  return rest[18] ?? null
}

function readProc(path: string): string | null {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
