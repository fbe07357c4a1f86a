import { sha256 } from '../../../policy/canonical.ts'
import type { Clock, Ids } from '../../../policy/ports.ts'

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #time: number
  constructor(start = '2026-03-01T10:00:00.000Z') {
    this.#time = Date.parse(start)
  }
  now(): Date {
    return new Date(this.#time)
  }
  advance(seconds: number): void {
    this.#time += seconds * 1000
  }
  /** An ISO time some seconds from now. */
  in(seconds: number): string {
    return new Date(this.#time + seconds * 1000).toISOString()
  }
}

/** Ids that are the same in every run of a test. */
export class TestIds implements Ids {
  #count = 0
  uuid(): string {
    this.#count += 1
    return `00000000-0000-7000-8000-${String(this.#count).padStart(12, '0')}`
  }
  bytes(length: number): Uint8Array {
    this.#count += 1
    const hex = sha256(`bytes ${this.#count}`)
    return Uint8Array.from({ length }, (_, index) =>
      Number.parseInt(hex.slice((index % 32) * 2, (index % 32) * 2 + 2), 16),
    )
  }
}
