import type { Readable, Writable } from 'node:stream'

/** The main process of an effect, whoever started it: agentctl itself, or Node for it. Plainly what is used of Node's own. */
export interface MainProcess {
  /** undefined where it could not be started. */
  readonly pid?: number | undefined
  /** Both null until it has been waited for: as long its pid is nobody else's. */
  readonly exitCode: number | null
  readonly signalCode: string | null
  /** Where its stdin is written; null where that is /dev/null. */
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  on(event: 'exit', listener: (code: number | null, signal: string | null) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  once(event: 'close', listener: () => void): unknown
  /** It no longer keeps agentctl from ending. */
  unref(): void
}
