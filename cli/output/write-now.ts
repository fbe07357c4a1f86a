import { writeSync } from 'node:fs'

/** How long a reader that is behind is waited for, and how often it is asked, in milliseconds. */
const patience = 300
const pause = 5

/** Writes to a descriptor before it returns, as much as its reader takes in time. Never throws. */
export function writeNow(fd: number, text: string): void {
  const deadline = performance.now() + patience
  let rest = Buffer.from(text)
  while (rest.length > 0)
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || performance.now() > deadline) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause)
    }
}
