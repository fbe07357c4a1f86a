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
  readonly #chunks = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] }
  readonly #bytes = { stdout: 0, stderr: 0 }

  constructor(limits: OutputLimits) {
    this.#limits = limits
  }

  /** Takes a chunk; `kept` is the part within the limits, `overflow` says which limit the rest broke. */
  add(stream: StreamName, chunk: Uint8Array): { kept: Uint8Array; overflow: ProcessEnd | null } {
    const ofStream = this.#limits[stream] - this.#bytes[stream]
    const ofBoth = this.#limits.combined - this.#bytes.stdout - this.#bytes.stderr
    const room = Math.min(ofStream, ofBoth)
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk
    if (kept.length > 0) {
      this.#chunks[stream].push(kept)
      this.#bytes[stream] += kept.length
    }
    if (chunk.length <= room) return { kept, overflow: null }
    const broken = ofStream <= ofBoth ? stream : 'combined'
    return { kept, overflow: { kind: 'output_exceeded', stream: broken, limitBytes: this.#limits[broken] } }
  }

  bytes(stream: StreamName): Uint8Array {
    const whole = Buffer.concat(this.#chunks[stream], this.#bytes[stream])
    this.#chunks[stream] = [whole]
    return whole
  }
}
