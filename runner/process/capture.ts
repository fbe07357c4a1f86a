import type { ProcessEnd } from '../executor.ts'

/** Bounds of what a process may print, in bytes each. */
export interface OutputLimits {
  stdout: number
  stderr: number
  combined: number
}

export type StreamName = 'stdout' | 'stderr'

/** Keeps both streams up to their limits: exactly N bytes pass at a limit of N, one more is the overflow. */
export class Capture {
  readonly #limits: OutputLimits
  readonly #streams = { stdout: new Blocks(), stderr: new Blocks() }

  constructor(limits: OutputLimits) {
    this.#limits = limits
  }

  /** Takes a chunk; `kept` is the part within the limits, `overflow` says which limit the rest broke. */
  add(stream: StreamName, chunk: Uint8Array): { kept: Uint8Array; overflow: ProcessEnd | null } {
    const { stdout, stderr } = this.#streams
    const ofStream = this.#limits[stream] - this.#streams[stream].length
    const ofBoth = this.#limits.combined - stdout.length - stderr.length
    const room = Math.max(0, Math.min(ofStream, ofBoth))
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk
    this.#streams[stream].add(kept)
    if (chunk.length <= room) return { kept, overflow: null }
    const broken = ofStream <= ofBoth ? stream : 'combined'
    return { kept, overflow: { kind: 'output_exceeded', stream: broken, limitBytes: this.#limits[broken] } }
  }

  bytes(stream: StreamName): Uint8Array {
    return this.#streams[stream].whole()
  }
}

/** Chunks from this size on are kept as they are; smaller ones, which cost more than they hold, are packed. */
const packedBelow = 16_384
const blockBytes = 65_536

/** Bytes as they come, in memory of about their own size however small the pieces are. */
class Blocks {
  length = 0
  #full: Uint8Array[] = []
  #open = Buffer.alloc(0)
  #used = 0

  add(chunk: Uint8Array): void {
    this.length += chunk.length
    if (chunk.length >= packedBelow) {
      this.#seal()
      this.#full.push(chunk)
      return
    }
    if (this.#used + chunk.length > this.#open.length) {
      this.#seal()
      this.#open = Buffer.allocUnsafeSlow(this.length > packedBelow ? blockBytes : packedBelow)
    }
    this.#open.set(chunk, this.#used)
    this.#used += chunk.length
  }

  whole(): Uint8Array {
    this.#seal()
    const whole = Buffer.concat(this.#full, this.length)
    this.#full = [whole]
    return whole
  }

  #seal(): void {
    const used = this.#open.subarray(0, this.#used)
    if (this.#used > 0) this.#full.push(this.#used * 2 < this.#open.length ? Buffer.from(used) : used)
    this.#open = Buffer.alloc(0)
    this.#used = 0
  }
}
