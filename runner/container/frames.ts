import type { StreamName } from '../process/capture.ts'

const headerBytes = 8
const streams: { readonly [type: number]: StreamName } = { 1: 'stdout', 2: 'stderr' }

/**
 * Reads an engine's frames as they come in whatever pieces: a byte of the stream, three of nothing, the length, the bytes.
 * Keeps at most one header. Throws where it is no frame.
 */
export class Frames {
  readonly #take: (stream: StreamName, bytes: Uint8Array) => void
  #header = Buffer.alloc(0)
  #stream: StreamName = 'stdout'
  #left = 0

  constructor(take: (stream: StreamName, bytes: Uint8Array) => void) {
    this.#take = take
  }

  /** Whether the last frame came whole. */
  get isWhole(): boolean {
    return this.#left === 0 && this.#header.length === 0
  }

  add(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#left === 0) {
        const missing = headerBytes - this.#header.length
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (this.#header.length < headerBytes) return
        this.#open(this.#header)
        this.#header = Buffer.alloc(0)
        continue
      }
      const bytes = rest.subarray(0, this.#left)
      this.#left -= bytes.length
      rest = rest.subarray(bytes.length)
      this.#take(this.#stream, bytes)
    }
  }

  #open(header: Buffer): void {
    const stream = streams[header.readUInt8(0)]
    if (stream === undefined || header.readUIntBE(1, 3) !== 0) throw new Error('the engine sent no frame of output')
    this.#stream = stream
    this.#left = header.readUInt32BE(4)
  }
}
