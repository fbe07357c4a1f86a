import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../policy/redact.ts'
import type { ProcessEnd } from '../executor.ts'
import { Capture, type OutputLimits, type StreamName } from '../process/capture.ts'
import { Frames } from './frames.ts'

/** From the container's end until its output must have ended too, while nothing more of it comes; milliseconds. */
const drainMilliseconds = 5_000

/** What a container prints, captured within its limits; `halt` is told of an overflow and of a stream that broke. */
export class ContainerOutput {
  readonly #capture: Capture
  readonly #onOutput: (stream: StreamName, chunk: Uint8Array) => void
  readonly #halt: (end: ProcessEnd) => void
  readonly #ended = Promise.withResolvers<void>()
  #heardAt = 0
  #isClosed = false
  hasEnded = false

  constructor(
    limits: OutputLimits,
    onOutput: (stream: StreamName, chunk: Uint8Array) => void,
    halt: (end: ProcessEnd) => void,
  ) {
    this.#capture = new Capture(limits)
    this.#onOutput = onOutput
    this.#halt = halt
  }

  /** Resolves once nothing more of it comes. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  captured(): { stdout: Uint8Array; stderr: Uint8Array } {
    return { stdout: this.#capture.bytes('stdout'), stderr: this.#capture.bytes('stderr') }
  }

  get wasHeard(): boolean {
    return this.#heardAt > 0
  }

  /** From now on nothing of it counts. */
  close(): void {
    this.#isClosed = true
  }

  /** Reads the engine's stream; a stream that ends within a frame, or without its end, is lost. */
  listen(stream: Duplex): void {
    const frames = new Frames((name, bytes) => this.#take(name, bytes))
    let isClean = false
    const broken = (why: string) => this.#halt({ kind: 'lost', message: `the container's output was lost: ${why}` })
    stream.on('data', (chunk: Buffer) => {
      this.#heardAt = performance.now()
      try {
        frames.add(chunk)
      } catch (error) {
        broken(describeError(error))
      }
    })
    stream.on('end', () => {
      isClean = frames.isWhole
      if (!isClean) broken('it ended within a frame')
    })
    stream.on('error', error => broken(describeError(error)))
    stream.on('close', () => {
      if (!isClean) broken('the connection was closed')
      this.hasEnded = true
      this.#ended.resolve()
    })
  }

  /** After the container's end: whether all of its output came. */
  async drained(): Promise<boolean> {
    this.#heardAt = performance.now()
    while (!this.hasEnded) {
      const left = this.#heardAt + drainMilliseconds - performance.now()
      if (left <= 0) return false
      await Promise.race([sleep(left), this.ended])
    }
    return true
  }

  #take(name: StreamName, bytes: Uint8Array): void {
    if (this.#isClosed) return
    const { kept, overflow } = this.#capture.add(name, bytes)
    if (kept.length > 0) this.#onOutput(name, kept)
    if (overflow !== null) this.#halt(overflow)
  }
}
