import type { Json, JsonObject } from '../../policy/json.ts'
import { LedgerError } from '../port.ts'
import type { Row, SqlValue } from './contract.ts'

/**
 * Reads a row's cells from left to right, in the order of its SELECT. A cell of another type than asked for means that
 * the file was written by something else: LedgerError corrupt.
 */
export class Cells {
  readonly #row: Row
  #next = 0

  constructor(row: Row) {
    this.#row = row
  }

  #take(): SqlValue {
    const value = this.#row[this.#next]
    this.#next += 1
    if (value === undefined) throw corrupt(`row has no column ${this.#next}`)
    return value
  }

  text(): string {
    const value = this.#take()
    if (typeof value !== 'string') throw corrupt(`column ${this.#next} is no text`)
    return value
  }

  textOrNull(): string | null {
    const value = this.#take()
    if (value !== null && typeof value !== 'string') throw corrupt(`column ${this.#next} is no text`)
    return value
  }

  int(): number {
    const value = this.#take()
    if (typeof value !== 'number') throw corrupt(`column ${this.#next} is no number`)
    return value
  }

  intOrNull(): number | null {
    const value = this.#take()
    if (value !== null && typeof value !== 'number') throw corrupt(`column ${this.#next} is no number`)
    return value
  }

  flag(): boolean {
    return this.int() === 1
  }

  bytesOrNull(): Uint8Array | null {
    const value = this.#take()
    if (value !== null && !(value instanceof Uint8Array)) throw corrupt(`column ${this.#next} holds no bytes`)
    return value
  }

  /** JSON that this ledger wrote itself; the caller names its type. */
  json<T extends Json | object | null = Json>(): T {
    return parse(this.text()) as T
  }

  jsonOrNull<T extends Json | object = JsonObject>(): T | null {
    const text = this.textOrNull()
    return text === null ? null : (parse(text) as T)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw corrupt('a cell is no JSON', cause)
  }
}

function corrupt(what: string, cause?: unknown): LedgerError {
  return new LedgerError('corrupt', `The ledger is damaged: ${what}. Keep it, and restore a backup or an export.`, {
    cause,
  })
}
