import { hexToBytes } from '@noble/hashes/utils.js'
import type { Digest } from '../../policy/canonical.ts'
import type { AuditLine } from '../types.ts'
import { dataDigest, eventHash, firstPrevious } from './hash.ts'
import { auditLineSchema, placeSchema } from './line.ts'
import { auditData, isAuditType } from './types.ts'

export type AuditVerdict =
  | {
      ok: true
      events: number
      /** Of the run's chain in a run's export, of the ledger's in an export of everything. */
      head: Digest
    }
  | { ok: false; at: { chain: string; seq: number }; reason: string }
type Broken = Extract<AuditVerdict, { ok: false }>

/**
 * Verifies an export offline, in constant memory besides the checkpoints: every hash and data digest, the order, the
 * schema of each event, and that each run's chain passes through its checkpoints. Names the first broken event. A cut end
 * shows against a checkpoint or `expectedHead`.
 */
export async function verifyAudit(
  lines: AsyncIterable<string> | Iterable<string>,
  expectedHead?: Digest,
): Promise<AuditVerdict> {
  const verifier = new Verifier()
  for await (const text of lines) {
    if (text.trim() === '') continue
    const broken = verifier.line(text)
    if (broken !== null) return broken
  }
  return verifier.end(expectedHead)
}

/** The chain being read. */
interface Chain {
  name: string
  seq: number
  head: Digest
  at: string
  /** Last event without data that no `data.erased` accounts for yet, 0 for none. */
  unexplained: number
}

class Verifier {
  #ledger: string | null = null
  #events = 0
  #chain: Chain = { name: '', seq: 0, head: firstPrevious, at: '', unexplained: 0 }
  #ledgerHead: Digest = firstPrevious
  /** The file holds one run and, of the ledger's chain, only the checkpoints of that run. */
  #oneRun = false
  /** `run/<id>` -> seq -> hash, of runs whose chain has not been read to its end. */
  readonly #checkpoints = new Map<string, Map<number, Digest>>()
  readonly #seen = new Set<string>()

  line(text: string): Broken | null {
    const value = parse(text)
    const parsed = auditLineSchema.safeParse(value)
    if (!parsed.success) return { ok: false, at: this.#placeOf(value), reason: 'the line is no audit event' }
    const line = parsed.data as AuditLine
    this.#ledger ??= line.ledger
    if (line.ledger !== this.#ledger) return broken(line, `it belongs to another ledger, ${line.ledger}`)
    if (line.chain !== this.#chain.name) {
      const fault = this.#endChain() ?? this.#beginChain(line)
      if (fault !== null) return fault
    }
    const fault = this.#order(line) ?? content(line) ?? this.#place(line)
    return fault === null ? null : broken(line, fault)
  }

  /** Where a line that is no event says it stands, else where one was expected. */
  #placeOf(value: unknown): Broken['at'] {
    const place = placeSchema.safeParse(value)
    return place.success ? place.data : { chain: this.#chain.name || 'ledger', seq: this.#chain.seq + 1 }
  }

  #beginChain(line: AuditLine): Broken | null {
    if (this.#seen.has(line.chain)) return broken(line, 'its chain stands in two places')
    if (this.#seen.size === 0 && line.chain !== 'ledger') {
      return broken(line, "the ledger's chain, or its checkpoints of the run, must come first")
    }
    this.#seen.add(line.chain)
    this.#chain = { name: line.chain, seq: 0, head: firstPrevious, at: '', unexplained: 0 }
    if (line.chain === 'ledger') {
      this.#oneRun = line.seq !== 1
      return null
    }
    if (!this.#checkpoints.has(line.chain)) return broken(line, 'the ledger has no checkpoint of this run')
    return null
  }

  #order(line: AuditLine): string | null {
    const chain = this.#chain
    if (line.at < chain.at) return 'it is dated before the event before it'
    if (this.#oneRun && chain.name === 'ledger') {
      if (line.type !== 'checkpoint') return 'events of the ledger before it are missing'
      return line.seq > chain.seq ? null : 'its sequence number does not follow'
    }
    if (line.seq !== chain.seq + 1) return `event ${chain.seq + 1} is missing before it`
    if (line.previous !== chain.head) return 'its previous hash is not the hash of the event before it'
    const first = chain.name === 'ledger' ? 'ledger.created' : 'run.created'
    if ((line.seq === 1) !== (line.type === first)) return `${first} is the first event of a chain, and only that`
    return null
  }

  #place(line: AuditLine): string | null {
    const chain = this.#chain
    chain.seq = line.seq
    chain.head = line.hash
    chain.at = line.at
    this.#events += 1
    if (line.data === undefined) chain.unexplained = line.seq
    else if (line.type === 'data.erased' && Number(line.data['through']) >= chain.unexplained) chain.unexplained = 0
    if (line.chain !== 'ledger') {
      const noted = this.#checkpoints.get(line.chain)?.get(line.seq)
      return noted === undefined || noted === line.hash ? null : "it is not the one of the ledger's checkpoint"
    }
    if (line.type === 'checkpoint' && line.data !== undefined) {
      const name = `run/${line.data['run']}`
      const known = this.#checkpoints.get(name) ?? new Map<number, Digest>()
      this.#checkpoints.set(name, known.set(Number(line.data['seq']), String(line.data['head'])))
    }
    return null
  }

  #endChain(): Broken | null {
    const chain = this.#chain
    if (chain.unexplained > 0) {
      const at = { chain: chain.name, seq: chain.unexplained }
      return { ok: false, at, reason: 'its data is missing though nothing says that it was erased' }
    }
    if (chain.name === 'ledger') this.#ledgerHead = chain.head
    const checkpoints = this.#checkpoints.get(chain.name)
    if (checkpoints === undefined) return null
    const last = Math.max(...checkpoints.keys())
    if (chain.seq < last) return cut(chain.name, chain.seq + 1)
    this.#checkpoints.delete(chain.name)
    return null
  }

  end(expectedHead?: Digest): AuditVerdict {
    const fault = this.#endChain()
    if (fault !== null) return fault
    if (this.#events === 0) return { ok: false, at: { chain: 'ledger', seq: 1 }, reason: 'there is no event' }
    const [absent] = this.#checkpoints.keys()
    if (absent !== undefined) return cut(absent, 1)
    const head = this.#oneRun ? this.#chain.head : this.#ledgerHead
    if (expectedHead !== undefined && head !== expectedHead) {
      const at = { chain: this.#oneRun ? this.#chain.name : 'ledger', seq: this.#oneRun ? this.#chain.seq + 1 : 0 }
      return { ok: false, at, reason: `the chain ends at ${head}, not at the expected ${expectedHead}` }
    }
    return { ok: true, events: this.#events, head }
  }
}

/** What is wrong with an event by itself. */
function content(line: AuditLine): string | null {
  if (eventHash(line) !== line.hash) return 'its fields do not give its hash'
  if (!isAuditType(line.type)) return `${line.type} is no type of event`
  if ((line.salt === undefined) !== (line.data === undefined)) return 'salt and data go together'
  if (line.salt === undefined || line.data === undefined) return null
  if (dataDigest(hexToBytes(line.salt), line.data) !== line.dataDigest) return 'its data does not give its data digest'
  return auditData[line.type].safeParse(line.data).success ? null : `its data is not that of ${line.type}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function broken(line: AuditLine, reason: string): Broken {
  return { ok: false, at: { chain: line.chain, seq: line.seq }, reason }
}

function cut(chain: string, seq: number): Broken {
  return { ok: false, at: { chain, seq }, reason: 'the chain ends before a checkpoint that the ledger has of it' }
}
