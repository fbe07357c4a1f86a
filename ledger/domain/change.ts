import type { RunState } from '../../policy/states.ts'
import { ChainEnd } from '../audit/append.ts'
import type { AuditData, AuditType } from '../audit/types.ts'
import { refer } from '../blobs.ts'
import type { Context } from '../context.ts'
import type { BlobRef, Payload } from '../payload.ts'
import { LedgerError } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import type { Sql } from '../sql/contract.ts'
import { mayMoveRun, mayReopenRun } from '../transitions.ts'
import type { LeaseHolder } from '../types.ts'
import { cell } from '../values.ts'

/** The part of a run's row that decides what may be done. */
export interface RunRow {
  state: RunState
  epoch: number
  holder: LeaseHolder | null
  leaseExpiresAt: string | null
  cancelRequested: boolean
  pause: string | null
  /** Runs of a control plane have follow-ups there; local runs have none. */
  hasInstance: boolean
}

/** One transaction's change of one run: its row as it stands now, and the open end of its chain. */
export class RunChange {
  readonly context: Context
  readonly sql: Sql
  readonly run: string
  readonly actor: string
  readonly chain: ChainEnd
  row: RunRow

  constructor(context: Context, run: string, actor: string, row: RunRow) {
    this.context = context
    this.sql = context.sql
    this.run = run
    this.actor = actor
    this.row = row
    this.chain = new ChainEnd(context, `run/${run}`, actor, context.clock.now().toISOString())
  }

  /** The transaction's time: the clock's, never before the chain's last event. */
  get now(): string {
    return this.chain.at
  }

  append<Type extends AuditType>(type: Type, subject: string, data: AuditData<Type>): void {
    this.chain.append(type, subject, data)
  }

  /** Ties the run's chain, as it stands now, to the ledger's; answers that event's sequence number. */
  checkpoint(): number {
    const ledger = new ChainEnd(this.context, 'ledger', this.actor, this.now)
    const data = { run: this.run, seq: this.chain.seq, head: this.chain.head }
    ledger.append('checkpoint', `run/${this.run}`, data)
    return ledger.seq
  }

  /** Moves the run along its table of transitions; the caller appends the event that says why. */
  moveRun(to: RunState): void {
    const from = this.row.state
    if (!mayMoveRun(from, to)) throw refused('conflict', `Run ${this.run} is ${from} and cannot become ${to}.`)
    this.sql.run('UPDATE runs SET state = ? WHERE run = ?', to, this.run)
    this.row = { ...this.row, state: to }
  }

  /** Opens an ended run for its compensations: it waits for whoever takes its lease. The caller appends the event. */
  reopen(): void {
    const { state } = this.row
    if (!mayReopenRun(state)) throw refused('conflict', `Run ${this.run} is ${state} and cannot be opened again.`)
    this.sql.run(
      "UPDATE runs SET state = 'paused', ended_at = NULL, cancel_requested = 0, pause = NULL WHERE run = ?",
      this.run,
    )
    this.row = { ...this.row, state: 'paused', cancelRequested: false, pause: null }
  }

  releaseLease(): void {
    this.sql.run('UPDATE runs SET holder = NULL, lease_expires_at = NULL WHERE run = ?', this.run)
    this.row = { ...this.row, holder: null, leaseExpiresAt: null }
  }

  /** Text for a payload's cell; ties its blob to this run. */
  payloadCell(payload: Payload, what: string): string {
    if ('blob' in payload) this.refer(payload.blob)
    return cell(payload, what)
  }

  payloadCellOrNull(payload: Payload | null, what: string): string | null {
    return payload === null ? null : this.payloadCell(payload, what)
  }

  refer(blob: BlobRef): void {
    refer(this.context, blob, this.run)
  }
}

/** The row of a run, null where there is none. */
export function readRunRow(context: Context, run: string): RunRow | null {
  const [row] = context.sql.all(
    'SELECT state, epoch, holder, lease_expires_at, cancel_requested, pause, instance_key IS NOT NULL FROM runs WHERE run = ?',
    run,
  )
  if (row === undefined) return null
  const cells = new Cells(row)
  return {
    state: cells.text() as RunState,
    epoch: cells.int(),
    holder: cells.jsonOrNull<LeaseHolder>(),
    leaseExpiresAt: cells.textOrNull(),
    cancelRequested: cells.flag(),
    pause: cells.textOrNull(),
    hasInstance: cells.flag(),
  }
}

/** The change of an existing run. Throws not_found. */
export function changeOf(context: Context, run: string, actor: string): RunChange {
  const row = readRunRow(context, run)
  if (row === null) throw refused('not_found', `There is no run ${run} in this ledger.`)
  return new RunChange(context, run, actor, row)
}

export function refused(
  code: 'stale_epoch' | 'lease_held' | 'not_found' | 'conflict' | 'invalid',
  message: string,
): LedgerError {
  return new LedgerError(code, message)
}
