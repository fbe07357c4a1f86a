import type { Digest } from '../../policy/canonical.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { Context } from '../context.ts'
import { Cells } from '../sql/cells.ts'
import { dataDigest, eventHash, firstPrevious } from './hash.ts'
import type { AuditData, AuditType } from './types.ts'

/**
 * The open end of one chain within a transaction: reads its last event once, then appends. Never kept beyond the
 * transaction, since a rollback would leave it ahead of the table.
 */
export class ChainEnd {
  readonly chain: string
  readonly #context: Context
  readonly #actor: string
  #seq = 0
  #hash: Digest = firstPrevious
  #at: string

  /** `now` is the transaction's time; an event is never dated before the chain's last one. */
  constructor(context: Context, chain: string, actor: string, now: string) {
    this.#context = context
    this.chain = chain
    this.#actor = actor
    this.#at = now
    const [row] = context.sql.all('SELECT seq, hash, at FROM events WHERE chain = ? ORDER BY seq DESC LIMIT 1', chain)
    if (row === undefined) return
    const cells = new Cells(row)
    this.#seq = cells.int()
    this.#hash = cells.text()
    const at = cells.text()
    if (at > this.#at) this.#at = at
  }

  get seq(): number {
    return this.#seq
  }

  get head(): Digest {
    return this.#hash
  }

  get at(): string {
    return this.#at
  }

  append<Type extends AuditType>(type: Type, subject: string, data: AuditData<Type>): void {
    const salt = this.#context.ids.bytes(16)
    const content = data as JsonObject
    const fields = {
      v: 1,
      ledger: this.#context.ledger,
      chain: this.chain,
      seq: this.#seq + 1,
      at: this.#at,
      actor: this.#actor,
      type,
      subject,
      dataDigest: dataDigest(salt, content),
      previous: this.#hash,
    } as const
    const hash = eventHash(fields)
    this.#context.sql.run(
      'INSERT INTO events (chain, seq, at, actor, type, subject, data_digest, hash, salt, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      fields.chain,
      fields.seq,
      fields.at,
      fields.actor,
      fields.type,
      fields.subject,
      fields.dataDigest,
      hash,
      salt,
      JSON.stringify(content),
    )
    this.#seq = fields.seq
    this.#hash = hash
  }
}
