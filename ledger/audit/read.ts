import { bytesToHex } from '@noble/hashes/utils.js'
import type { Digest } from '../../policy/canonical.ts'
import type { Context } from '../context.ts'
import { Cells } from '../sql/cells.ts'
import type { Row } from '../sql/contract.ts'
import type { AuditLine } from '../types.ts'
import { firstPrevious } from './hash.ts'

export interface EventQuery {
  /** `run/<id>` or `ledger` (the default). */
  chain?: string
  /** Sequence number after which the page begins; 0 for the first. */
  after?: number
  /** 1..1,000, 100 by default. */
  limit?: number
}

export interface EventsPage {
  items: AuditLine[]
  /** `after` of the next page, null at the end. */
  next: number | null
}

/** Hash of a chain's last event, 64 zeros where it has none. */
export function chainHead(context: Context, chain: string): Digest {
  const [row] = context.sql.all('SELECT hash FROM events WHERE chain = ? ORDER BY seq DESC LIMIT 1', chain)
  return row === undefined ? firstPrevious : new Cells(row).text()
}

/** Sequence number and hash of a chain's last event; 0 and 64 zeros before the first. */
export function chainTip(context: Context, chain: string): { seq: number; hash: Digest } {
  const [row] = context.sql.all('SELECT seq, hash FROM events WHERE chain = ? ORDER BY seq DESC LIMIT 1', chain)
  if (row === undefined) return { seq: 0, hash: firstPrevious }
  const cells = new Cells(row)
  return { seq: cells.int(), hash: cells.text() }
}

/** One page of a chain. */
export function readEvents(context: Context, query: EventQuery): EventsPage {
  const chain = query.chain ?? 'ledger'
  const after = query.after ?? 0
  const limit = Math.min(Math.max(query.limit ?? 100, 1), 1000)
  // One row before the page for its hash, one behind it to know whether more follows.
  const rows = context.sql.all(
    'SELECT seq, at, actor, type, subject, data_digest, hash, salt, data FROM events WHERE chain = ? AND seq >= ? ORDER BY seq LIMIT ?',
    chain,
    after,
    limit + 2,
  )
  const items: AuditLine[] = []
  let previous = firstPrevious
  for (const row of rows) {
    const line = asLine(context.ledger, chain, previous, row)
    previous = line.hash
    if (line.seq > after && items.length < limit) items.push(line)
  }
  const last = items.at(-1)
  const lastRead = rows.at(-1)
  const more = last !== undefined && lastRead !== undefined && new Cells(lastRead).int() > last.seq
  return { items, next: more ? last.seq : null }
}

function asLine(ledger: string, chain: string, previous: Digest, row: Row): AuditLine {
  const cells = new Cells(row)
  const line: AuditLine = {
    v: 1,
    ledger,
    chain,
    seq: cells.int(),
    at: cells.text(),
    actor: cells.text(),
    type: cells.text(),
    subject: cells.text(),
    dataDigest: cells.text(),
    previous,
    hash: cells.text(),
  }
  const salt = cells.bytesOrNull()
  const data = cells.jsonOrNull()
  if (salt === null || data === null) return line
  return { ...line, salt: bytesToHex(salt), data }
}
