import type { LeaseCommand } from '../ledger/commands.ts'
import { inlineLimitBytes, type Payload } from '../ledger/payload.ts'
import type { Ledger, Receipt } from '../ledger/port.ts'
import { LedgerError } from '../ledger/port.ts'
import { canonical } from '../policy/canonical.ts'
import type { Json } from '../policy/json.ts'
import type { Ids } from '../policy/ports.ts'
import { patiently } from './patience.ts'
import type { Timings } from './run.ts'

type WithoutId<C> = C extends { id: string } ? Omit<C, 'id'> : never
/** A command before it has its id. */
export type Draft = WithoutId<LeaseCommand>

interface Waiting {
  commands: LeaseCommand[]
  resolve(receipt: Receipt): void
  reject(error: unknown): void
}

/** More commands than this do not share a batch. */
const maxShared = 500

/**
 * The runner's side of the ledger: one batch at a time in order, boundaries of one tick in one batch, the lease kept. What it
 * throws is a LedgerError.
 */
export class Journal {
  readonly #ledger: Ledger
  readonly #ids: Ids
  readonly #run: string
  readonly #epoch: number
  readonly #timings: Timings
  readonly #stop: AbortSignal
  readonly #onCancel: () => void
  readonly #waiting: Waiting[] = []
  #sending = false
  #renewedAt = performance.now()
  #timer: NodeJS.Timeout | null = null
  /** Hash of the run chain's last event that was acknowledged. */
  head = ''

  constructor(options: {
    ledger: Ledger
    ids: Ids
    run: string
    epoch: number
    timings: Timings
    /** The run was told to stop: deliveries are no longer waited for as long. */
    stop: AbortSignal
    onCancel(): void
  }) {
    this.#ledger = options.ledger
    this.#ids = options.ids
    this.#run = options.run
    this.#epoch = options.epoch
    this.#timings = options.timings
    this.#stop = options.stop
    this.#onCancel = options.onCancel
  }

  /** Commits commands; resolves when they are durable. */
  apply(drafts: readonly Draft[]): Promise<Receipt> {
    return this.#enqueue(drafts, queueMicrotask)
  }

  /** Commits commands with whatever else becomes ready in this turn of the event loop: results of one batch share a commit. */
  applyShared(drafts: readonly Draft[]): Promise<Receipt> {
    return this.#enqueue(drafts, setImmediate)
  }

  #enqueue(drafts: readonly Draft[], schedule: (act: () => void) => void): Promise<Receipt> {
    const commands = drafts.map(draft => ({ ...draft, id: this.#ids.uuid() }) as LeaseCommand)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commands, resolve, reject })
      if (this.#sending) return
      this.#sending = true
      schedule(() => void this.#send())
    })
  }

  /** A JSON value as the ledger keeps it: in its row, or as a blob where it is large. */
  async payload(value: Json): Promise<Payload> {
    const text = canonical(value)
    if (text.length <= inlineLimitBytes / 3 || Buffer.byteLength(text) <= inlineLimitBytes) return { inline: value }
    return { blob: await this.putBlob(Buffer.from(text)) }
  }

  /** Stores bytes as a blob, repeated as a batch is. */
  putBlob(bytes: Uint8Array) {
    return patiently(this.#timings, this.#stop, () => this.#ledger.putBlob(bytes))
  }

  /** Throws lease_held where an effect may not start any more: the lease could not be renewed in time. */
  async assertMayStart(): Promise<void> {
    if (performance.now() - this.#renewedAt > this.#timings.startWithin) await this.apply([{ type: 'lease.renew' }])
    if (performance.now() - this.#renewedAt <= this.#timings.startWithin) return
    throw new LedgerError('lease_held', 'the lease could not be renewed in time, so no effect starts; resume the run')
  }

  /** Keeps the lease while effects run; `stopRenewing` ends it. */
  startRenewing(): void {
    this.#timer = setInterval(() => void this.#renew(), Math.max(5, this.#timings.renewEvery / 4))
    this.#timer.unref()
  }

  stopRenewing(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  get #isRenewalDue(): boolean {
    return performance.now() - this.#renewedAt >= this.#timings.renewEvery
  }

  /** Fails silently: the next boundary meets the same failure and tells it. */
  async #renew(): Promise<void> {
    if (this.#sending || !this.#isRenewalDue) return
    this.#sending = true
    try {
      await this.#commit([{ type: 'lease.renew', id: this.#ids.uuid() }], call => call())
    } catch {
      // As said above.
    } finally {
      await this.#send()
    }
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const shared = this.#takeShared()
      const commands = shared.flatMap(entry => entry.commands)
      if (this.#isRenewalDue && !commands.some(({ type }) => endsLease.has(type)))
        commands.unshift(
          ...(commands[0]?.type === 'run.create' ? [] : [{ type: 'lease.renew' as const, id: this.#ids.uuid() }]),
        )
      try {
        const receipt = await this.#commit(commands, call => patiently(this.#timings, this.#stop, call))
        for (const { resolve } of shared) resolve(receipt)
      } catch (error) {
        for (const { reject } of shared) reject(error)
      }
    }
    this.#sending = false
  }

  async #commit(
    commands: LeaseCommand[],
    attempt: (call: () => Promise<Receipt>) => Promise<Receipt>,
  ): Promise<Receipt> {
    let sentAt = performance.now()
    const receipt = await attempt(() => {
      sentAt = performance.now()
      return this.#ledger.apply({ run: this.#run, epoch: this.#epoch, commands })
    })
    if (commands.some(({ type }) => type === 'lease.renew' || type === 'run.create')) this.#renewedAt = sentAt
    this.head = receipt.head
    if (receipt.cancelRequested) this.#onCancel()
    return receipt
  }

  #takeShared(): Waiting[] {
    let count = 0
    let size = 0
    while (size < this.#waiting.length) {
      count += this.#waiting[size]?.commands.length ?? 0
      if (size > 0 && count > maxShared) break
      size += 1
    }
    return this.#waiting.splice(0, size)
  }
}

const endsLease: ReadonlySet<string> = new Set(['lease.release', 'lease.renew', 'run.pause', 'run.finish'])
