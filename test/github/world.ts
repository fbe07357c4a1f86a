import { EventEmitter } from 'node:events'
import type { Clock } from '../../policy/ports.ts'

/** What every part of the double shares: clock, ids, addresses, and the one signal that something changed. */
export class World {
  readonly clock: Clock
  apiUrl = ''
  serverUrl = ''
  readonly #changes = new EventEmitter()
  #next = 1000

  constructor(clock: Clock) {
    this.clock = clock
    this.#changes.setMaxListeners(0)
  }

  now(): Date {
    return this.clock.now()
  }

  /** A fresh id, unique over all kinds, so that a mix-up of two kinds never works by accident. */
  id(): number {
    this.#next += 1 + (this.#next % 7)
    return this.#next
  }

  /** Say that state changed; wakes every `until`. */
  changed(): void {
    this.#changes.emit('change')
  }

  until<T>(predicate: () => T | undefined | null | false, timeoutMs: number, describe: () => string): Promise<T> {
    return new Promise((resolve, reject) => {
      const check = () => {
        try {
          const value = predicate()
          if (value === undefined || value === null || value === false) return
          settle()
          resolve(value)
        } catch (error) {
          settle()
          reject(error)
        }
      }
      const timer = setTimeout(() => {
        settle()
        reject(new Error(`waited ${timeoutMs} ms in vain for ${String(predicate)}\n${describe()}`))
      }, timeoutMs)
      const settle = () => {
        clearTimeout(timer)
        this.#changes.off('change', check)
      }
      this.#changes.on('change', check)
      check()
    })
  }
}

/** GitHub's node ids are opaque; ours carry kind and number so that GraphQL can find them again. */
export const nodeId = (kind: string, id: number): string => `${kind}_${Buffer.from(String(id)).toString('base64url')}`

/** GitHub's times have whole seconds: two events within one second are equal to a client. */
export const iso = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`

export const maybeIso = (date: Date | null): string | null => (date ? iso(date) : null)
